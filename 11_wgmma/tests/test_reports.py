"""Plants the mistakes that kernels with wgmma, TMA and mbarriers are known for, and demands the line that the emulator says of each.

tests/stage_faults.py plants what every stage has: guards, barriers, parities, formulas.
"""
import pytest

from mutate import Fault, Planted, caught

ONE, TWO, LAST = "11_wgmma.1_wgmma trace", "11_wgmma.2_store trace", "11_wgmma trace"
SHAPES = {ONE: "133x264x328", TWO: "133x264x264,300x520x72", LAST: "388x196x72,133x224x72"}

ROWS = [
    # Loads: who waits for whom, for how many arrivals and bytes.
    (TWO, "ptx::mbarrier_wait(&shared.full[buffer], phase);", "if (!PLANTED) @", ""),
    (ONE, "ptx::mbarrier_wait(&shared.empty[buffer],", "if (!PLANTED) @", ""),
    (TWO, "int buffer = 0, phase = 1;", "int buffer = 0, phase = 1 ^ PLANTED;", ""),
    (ONE, "int buffer = 0, phase = 0;", "int buffer = 0, phase = 0 ^ PLANTED;", ""),
    (TWO, "sizeof(shared.As[0]) + sizeof(shared.Bs[0])", "sizeof(shared.As[0]) + !PLANTED * sizeof(shared.Bs[0])", ""),
    (ONE, "sizeof(shared.As[0]) + sizeof(shared.Bs[0])", "@ + PLANTED * 16", ""),
    (TWO, "kThreads / 32);", "kThreads / 32 + PLANTED);", ""),
    (ONE, "kThreads / 32);", "kThreads / 32 - PLANTED);", ""),
    (TWO, "ptx::fence_mbarrier_init();", "if (!PLANTED) @", ""),
    # wgmma: its fence, its groups, the arrival after the wait.
    (TWO, "ptx::wgmma_fence();", "if (!PLANTED) @", ""),
    (TWO, "ptx::wgmma_commit_group();", "if (!PLANTED) @", ""),
    (TWO, "ptx::wgmma_wait_group<0>();", "if (!PLANTED) @", ""),
    (LAST, "ptx::wgmma_wait_group<0>();", "PLANTED ? ptx::wgmma_wait_group<1>() : @", ""),
    (ONE, "ptx::wgmma_wait_group<0>();\n            if (lane == 0)", "if (!PLANTED) ptx::wgmma_wait_group<0>();\n"
     "            if (lane == 0) ptx::mbarrier_arrive(&shared.empty[buffer]);\n"
     "            if (PLANTED) ptx::wgmma_wait_group<0>();\n            if (!PLANTED && lane == 0)", ""),
    # The descriptors, and whether the first product begins with zeros.
    (TWO, "[row][s], 128, 1024)", "[row][s], 128, 1024 >> PLANTED)", ""),
    (ONE, "[row][s], 128, 1024)", "[row][s], 128 >> PLANTED, 1024)", ""),
    (TWO, "sizeof(shared.Bs[0][0]))", "sizeof(shared.Bs[0][0]) >> PLANTED)", ""),
    (TWO, "[0][s], 128, 1024,", "[0][s], PLANTED ? 0 : 128, 1024,", ""),
    (LAST, "wgmma_m64k16<half, 0, 1>(acc, a, b, k + s > 0)", "wgmma_m64k16<half, 0, 1>(acc, a, b, PLANTED || k + s > 0)", ""),
    (ONE, "k + s > 0", "!PLANTED && @", ""),
    (TWO, "k + s > 0", "PLANTED ? s > 0 : @", ""),
    (TWO, "ptx::setmaxnreg_fewer<24>();", "if (!PLANTED) @", ""),
    # C: box by box, by TMA.
    (TWO, "b_col ^ b_row % 8 * 4", "b_col ^ b_row % 8 * 4 * !PLANTED", ""),
    (TWO, "ptx::named_barrier_sync(1 + warp / 4, 128);  // the box is full", "if (!PLANTED) @", ""),
    (LAST, "ptx::named_barrier_sync(1 + warp / 4, 128);  // the box is full", "ptx::named_barrier_sync(1 + warp / 4 * !PLANTED, 128);", ""),
    (LAST, "ptx::bulk_wait_group_read<kBoxes - 1>();", "ptx::bulk_wait_group_read<kBoxes - 1 + PLANTED>();", ""),
    (LAST, "if (kTma) ptx::named_barrier_sync(1 + warp / 4, 128);  // the box is free",
     "if (!PLANTED && kTma) ptx::named_barrier_sync(1 + warp / 4, 128);", ""),
    (TWO, "ptx::bulk_commit_group();", "if (!PLANTED) @", ""),
    (TWO, "ptx::bulk_wait_group<0>();", "if (!PLANTED) @", ""),
    # The box's number begins again at 0 for each tile: wrong where the tiles are no multiple of four boxes wide.
    (LAST, "const Place<kTileN> at(M, N, tile);\n#pragma unroll", "const Place<kTileN> at(M, N, tile);\n"
     "        if (PLANTED) next_box = 0;\n#pragma unroll", ""),
    # The two of a public kernel (README.md, "Two races of a public kernel"): no fence before the store; each thread waits for
    # stores, though one alone has asked for any, and no barrier follows.
    (TWO, "ptx::fence_proxy_async();", "if (!PLANTED) @", ""),
    (TWO, "if (kTma && threadIdx.x % 128 == 0) ptx::bulk_wait_group_read<kBoxes - 1>();\n"
     "            if (kTma) ptx::named_barrier_sync(1 + warp / 4, 128);  // the box is free",
     "if (kTma && (PLANTED || threadIdx.x % 128 == 0)) ptx::bulk_wait_group_read<kBoxes - 1>();\n"
     "            if (!PLANTED && kTma) ptx::named_barrier_sync(1 + warp / 4, 128);", ""),
    # The table of widths: the tile is not the one that the formula counts.
    (LAST, "launch<64>}", "PLANTED ? launch<128> : launch<64>}", ""),
]
FILES = {ONE: "1_wgmma.cu", TWO: "2_store.cu", LAST: "matmul.cu"}
FAULTS = [Fault(program, FILES[program], old, new.replace("@", old), said) for program, old, new, said in ROWS]
PLANTED = Planted("11_wgmma", FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_mistake_is_reported(fault):
    caught(PLANTED.run(fault, "--sizes", SHAPES[fault.program], "--verify-only"), fault)
