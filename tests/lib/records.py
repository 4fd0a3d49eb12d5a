"""Records of the stages, as ./run view makes them."""
import functools

import view
from support import ROOT, program

# Those whose records a page explains.
STAGES = sorted(path.parent.name for path in ROOT.glob("[0-9][0-9]_*/view.txt"))


@functools.lru_cache(None)
def record_of(step, shape=None):
    """The record of 11_wgmma, or of one of its steps, such as 11_wgmma.2_tma_store."""
    usual, options = view.usual_launch(step)
    if shape is None or shape == usual:
        return view.read(view.record(program(f"{step}_cpu_trace"), usual, *options), step, usual)
    return view.read(view.record(program(f"{step}_cpu_trace"), shape), step, shape)
