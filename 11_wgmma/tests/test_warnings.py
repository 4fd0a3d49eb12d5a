"""ptxas says what it makes slow: edits of 1_wgmma.cu, and the warnings of which notes.md tells. The stage itself has none
(tests/nvcc.py).
"""
import re

import pytest

import nvcc
from support import ROOT, call

WAIT, BOUNDS, MORE = r"ptx::wgmma_wait_group<\d+>\(\);", r"__launch_bounds__\([^()]*\)", r"setmaxnreg_more<\d+>"
LOOP = r"for \([^{}]*\{(?=[^{}]*ptx::wgmma_m64)"
EDITS = {  # {(what is found once, what that becomes; @: the code as it was) ... or an option: the warnings' numbers and words}
    ((WAIT, "@ if (M == 12345) reinterpret_cast<void (*)(int)>(C)(k);"),):
        {7506: "'setmaxnreg' ignored to maintain compatibility into 'extern' call",
         7510: "wgmma pipeline crossing function boundary at a function call"},
    ((WAIT, "@ if (M == 12345) acc[k % 32][0] = 0;"),):
        {7511: "insufficient register resources for the wgmma pipeline", 7519: "warpgroup.arrive is injected"},
    ((WAIT, "if (acc[0][0] == 1e30f) C[0] = 1; @"),):
        {7514: "non wgmma instructions reading accumulator registers", 7517: "warpgroup.wait is injected"},
    ((WAIT, "if (threadIdx.x % 32 < M) @"), "-rdc=true"):
        {7504: "'setmaxnreg' ignored to maintain compatibility across compilation units",
         7518: "program dependence on compiler-inserted WG.DP in divergent path"},
    ((LOOP, "if (threadIdx.x % 32 < M) @"), (MORE, "setmaxnreg_more<152>")):
        {7507: "'setmaxnreg' ignored to maintain minimum register requirements",
         7520: "program dependence on compiler-inserted WG.AR in divergent path"},
    ("-G",): {7505: "'setmaxnreg' ignored to allow debugging"},
    ((BOUNDS, ""),): {7508: "'setmaxnreg' ignored; unable to determine register count at entry"},
}


@pytest.mark.parametrize("edits", EDITS, ids=lambda edits: " ".join(map(str, EDITS[edits])))
def test_warnings(edits, tmp_path):
    release = re.search(r"release (\d+)", call(nvcc.compiler(), "--version").stdout)[1]
    if int(release) < 13:
        pytest.skip("the numbers and words are those of CUDA 13")
    text = (ROOT / "11_wgmma/1_wgmma.cu").read_text()
    for old, new in (edit for edit in edits if not isinstance(edit, str)):
        text, count = re.subn(old, lambda match: new.replace("@", match[0]), text)
        assert count == 1, old
    (tmp_path / "edited.cu").write_text(text)
    report = nvcc.nvcc([tmp_path / "edited.cu", "-cubin", "-std=c++17", "-I.", "-gencode=arch=compute_90a,code=sm_90a",
                         *(edit for edit in edits if isinstance(edit, str))], tmp_path / "cubin")
    notes = (ROOT / "11_wgmma/notes.md").read_text()
    for number, words in EDITS[edits].items():
        assert re.search(rf"\(C{number}\).*{re.escape(words)}", report), report
        assert re.search(rf"(?m)^\|.*\bC{number}\b", notes), "the table of notes.md lacks it"
