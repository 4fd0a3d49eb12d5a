"""How a block's tiles of A and B flow through shared memory: from the record of a launch, a row for each k-tile.
docs/results/flow.csv has those of all stages that are timed, and the first page shows them.

Time is counted in beats, because a record has an order but no times. A beat lies between two barriers of the block or,
in a kernel with mbarriers, between two waits of a consumer; in a kernel without shared memory it is a value of k. A row
says in which beats the tile is loaded, is written to shared memory and is multiplied, and in which stage of the
pipeline it lies meanwhile ("-" if its elements go to registers). Loads that wait for an mbarrier run beside the
consumers. They are shown as early as that barrier allows: in the beat after the one that read the stage's last tile.
"""
import collections
import re

COLUMNS = ("tile", "rows", "columns", "k", "tile_k", "pipeline_stage", "load", "store", "multiply")


class Block:
    """The first block of a record that view.read() has read."""

    def __init__(self, record):
        self.record, self.arrays = record, {each["name"]: each for each in record["arrays"]}
        self.warps, self.notes = (record["blocks"][0][what] for what in ("warps", "notes"))
        self.has_mbarriers = any(kind == "barrier" for kind, *_ in self.notes)

    def spread(self, first=None, pattern=None):
        """The addresses of lanes that the record has as the first one and a pattern."""
        distances = self.record["patterns"][pattern] if pattern is not None else ()
        return [first + each for each in distances if each is not None]

    def events(self):
        """Yields (beat, kind, width, addresses, the note before, in a list) for each event of each warp."""
        end = "wait" if self.has_mbarriers else "barrier"
        for warp in self.warps:
            beat = 0
            for site, _, _, moment, *lanes in warp:
                kind, _, _, width = self.record["sites"][site]
                beat += kind == end
                yield beat, kind, width, self.spread(*lanes[:2]), self.notes[moment - 1 : moment]

    def loads(self):
        """Yields (beat, matrix, its rows, its columns) for each access to global memory that reads A or B."""
        for beat, kind, width, addresses, _ in self.events():
            if kind not in ("global load", "copy") or not addresses:
                continue
            for name, begin, rows, columns, size in (each.values() for each in self.record["matrices"][:2]):
                at = [(each - begin) // size for each in addresses]
                if 0 <= at[0] < rows * columns:
                    down, across = [each // columns for each in at], [each % columns for each in at]
                    yield beat, name, range(min(down), max(down) + 1), range(min(across), max(across) + width // size)
        for kind, *cells in self.notes:
            if kind == "load":
                name, x, y, columns, rows = cells[2:7]
                yield None, name, range(y, y + rows), range(x, x + columns)

    def stage_of(self, address):
        """The stage of the pipeline in which an address of shared memory lies, or None if it is not in a tile."""
        for name, array in self.arrays.items():
            tile, at = re.fullmatch(r"(?:tiles\[(\d+)\]\.)?[AB]s", name), address - array["begin"]
            if tile and 0 <= at < array["bytes"]:
                stages = array["lengths"][0] if len(array["lengths"]) > 2 else 1
                return int(tile[1] or at * stages // array["bytes"])
        return None

    def tile_k(self):
        """How many values of k a tile has: the rows of a tile of B."""
        lengths = next((each["lengths"] for name, each in self.arrays.items() if name.endswith("Bs")), ())
        return lengths[-2] if len(lengths) > 1 else 1

    def stages(self, kinds):
        """{beat: the stage of the pipeline to which most accesses of these kinds belong}"""
        found = collections.defaultdict(collections.Counter)
        for beat, kind, _, addresses, note in self.events():
            if kind in kinds:
                places = addresses or self.spread(*note[0][2])  # a wgmma's note begins with A's
                found[beat][self.stage_of(places[0])] += 1
        most = {beat: counts.most_common(1)[0][0] for beat, counts in sorted(found.items())}
        return {beat: stage for beat, stage in most.items() if stage is not None}


def tiles_of(record):
    """[{column: its number} of each k-tile of a record's first block]"""
    block = Block(record)
    tile_k, loaded = block.tile_k(), collections.defaultdict(lambda: collections.defaultdict(list))
    for beat, matrix, rows, columns in block.loads():
        ks, across = (columns, rows) if matrix == "A" else (rows, columns)
        loaded[ks.start // tile_k][matrix].append((beat, across))
    reads, writes = block.stages(("shared load", "wgmma")), block.stages(("shared store",))
    found = []
    for number, of in sorted(loaded.items()):
        edges = {matrix: max(each.stop for _, each in ranges) - min(each.start for _, each in ranges)
                 for matrix, ranges in of.items()}
        load = min(beat for beat, _ in of["A"] + of["B"]) if not block.has_mbarriers else 0
        tile = {"tile": number, "rows": edges["A"], "columns": edges["B"], "k": number * tile_k, "tile_k": tile_k}
        if not reads:  # there is no shared memory, and k is the beat
            found.append(tile | {"pipeline_stage": "-", "load": number, "store": number, "multiply": number})
            continue
        multiply, stage = list(reads.items())[number]
        if block.has_mbarriers:
            load = max((each["multiply"] + 1 for each in found if each["pipeline_stage"] == stage), default=0)
        store = next((beat for beat, to in writes.items() if beat >= load and to == stage), load)
        found.append(tile | {"pipeline_stage": stage, "load": load, "store": store, "multiply": multiply})
    return found
