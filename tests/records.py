"""Records of the stages, as ./run view makes them."""
import functools

import view
from support import BUILD, ROOT, program

STAGES = sorted(path.parent.name for path in ROOT.glob("[0-9][0-9]_*/matmul.cu"))


def built(stage):
    """The source of a stage or a step: 11_wgmma or 11_wgmma.2_store."""
    program(f"{stage}_cpu_trace")  # or skipped
    chapter, _, step = stage.partition(".")
    return ROOT / chapter / f"{step or 'matmul'}.cu"


@functools.lru_cache(None)
def record_of(stage, shape=None):
    source = built(stage).read_text()
    shape = shape or view.default_shape(source)
    return view.read(view.record(BUILD / "bin" / f"{stage}_cpu_trace", shape), stage, shape)
