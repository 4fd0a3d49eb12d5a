"""Plants the mistakes that kernels with wgmma, TMA and mbarriers are known for, and demands the line that the emulator says of each.

tests/stage_faults.py plants what every stage has: guards, barriers, parities, formulas.
"""
import pytest

from mutate import Fault, Planted, caught

ONE, TWO, THREE, FIVE, LAST = (f"11_wgmma{step} trace" for step in (".1_wgmma", ".2_store", ".3_late", ".5_tiles", ""))
FILES = {ONE: "1_wgmma.cu", TWO: "2_store.cu", THREE: "3_late.cu", FIVE: "5_tiles.cu", LAST: "matmul.cu"}
# More steps than buffers, more tiles than the emulator's three multiprocessors; rows of C that TMA can't store; tiles of 128 x 224; the
# last: tiles of 64 x 128.
SHAPES = {ONE: "133x264x328", TWO: "133x264x264,300x520x72,70x67x72", THREE: "300x520x72,300x520x392,256x576x256",
          FIVE: "388x448x72", LAST: "61x388x580"}

DEADLOCK = r"deadlock: no thread of block 0 can go on: 257 threads in mbarrier_wait, thread 0 at \S+:\d+ for phase {} of the mbarrier"
ONE_MORE = r"mbarrier_arrive_expect_tx: one arrival more than the 1 of phase 0 of the mbarrier at byte \d+ .* at \S+:\d+ \("
WRITTEN = r"wgmma: accumulators were written while the wgmma at \S+:\d+ was under way at \S+:\d+ \("
OPERANDS = r"race in shared memory: \S+:\d+ reads what \S+:\d+ writes \(block 0, threads \d+'s copy and (?:128|256)'s copy\)"
BOX = r"race in shared memory: \S+:\d+ writes what \S+:\d+ reads \(block 0, threads \d+ and 0's copy\)"
NO_READ = r"the block ends, and no bulk_wait_group_read\(\) covers the bulk_tensor_store at \S+:\d+ \(block 0, thread 0\)"
WRONG = r"C\[{}\]\[{}\] is \S+, expected -?\d+$"

ROWS = (  # the program, its code, what that becomes (@: the code as it was), what is said
    # Loads: who waits for whom, for how many arrivals and bytes.
    (TWO, "ptx::mbarrier_wait(&shared.full[buffer], phase);", "if (!PLANTED) @", ONE_MORE),
    (ONE, "ptx::mbarrier_wait(&shared.empty[buffer],", "if (!PLANTED) @", ONE_MORE),
    (TWO, "int buffer = 0, phase = 1;", "int buffer = 0, phase = 1 ^ PLANTED;", DEADLOCK.format(0)),
    (ONE, "int buffer = 0, phase = 0;", "int buffer = 0, phase = 0 ^ PLANTED;", ONE_MORE),
    (TWO, "sizeof(shared.As[0]) + sizeof(shared.Bs[0])", "sizeof(shared.As[0]) + !PLANTED * sizeof(shared.Bs[0])",
     r"bulk_tensor_load: the one at \S+:\d+ is still writing there at \S+:\d+ \("),
    (ONE, "sizeof(shared.As[0]) + sizeof(shared.Bs[0])", "@ + PLANTED * 16", r"1 of 1 arrivals and 16 expected bytes to come|"
     r"0 of 1 arrivals and 16 expected bytes to come, 256 threads waiting"),
    (TWO, "kThreads / 32);", "kThreads / 32 + PLANTED);", DEADLOCK.format(1)),
    (ONE, "kThreads / 32);", "kThreads / (32 << PLANTED));",
     r"mbarrier_wait: phase 1 of the mbarrier .* is complete before the thread that waits for phase 0 has gone on: .* at \S+:\d+ \("),  # one warpgroup's arrivals suffice
    (TWO, "ptx::fence_mbarrier_init();", "if (!PLANTED) @",
     r"bulk_tensor_load: no fence_mbarrier_init\(\) follows the mbarrier_init\(\) of the mbarrier .* at \S+:\d+ at \S+:\d+ \("),
    # wgmma: its fence, its groups, the arrival after the wait, registers.
    (TWO, "ptx::wgmma_fence();", "if (!PLANTED) @", r"wgmma: no wgmma_fence\(\) before the first one at \S+:\d+ \("),
    (TWO, "ptx::wgmma_commit_group();", "if (!PLANTED) @", WRITTEN),
    (TWO, "ptx::wgmma_wait_group<0>();", "if (!PLANTED) @", WRITTEN),
    (FIVE, "ptx::wgmma_wait_group<0>();", "PLANTED ? ptx::wgmma_wait_group<1>() : @", WRITTEN),
    (ONE, "ptx::wgmma_wait_group<0>();\n            if (lane == 0)", "if (!PLANTED) ptx::wgmma_wait_group<0>();\n"
     "            if (PLANTED && lane == 0) ptx::mbarrier_arrive(&shared.empty[buffer]);\n"
     "            if (PLANTED) ptx::wgmma_wait_group<0>();\n            if (!PLANTED && lane == 0)", OPERANDS),
    (TWO, "ptx::setmaxnreg_more<240>();", "PLANTED ? ptx::setmaxnreg_more<256>() : @",
     r"setmaxnreg_\w+: the warps would have \d+ registers of 65536 at \S+:\d+ \("),
    # The descriptors, and which product begins with zeros.
    (TWO, "[row][s], 128, 1024)", "[row][s], 128, 1024 >> PLANTED)", WRONG.format(8, 0)),
    (ONE, "[row][s], 128, 1024)", "[row][s], 128 >> PLANTED, 1024)", WRONG.format(1, 0)),
    (TWO, "sizeof(shared.Bs[0][0]))", "sizeof(shared.Bs[0][0]) >> PLANTED)", WRONG.format(0, 64)),
    (TWO, "[0][s], 128, 1024,", "[0][s], PLANTED ? 0 : 128, 1024,", r"uninitialised shared memory: \S+:\d+ reads what no thread"),
    (FIVE, "k + s > 0", "PLANTED || @", r"C\[0\]\[0\] is -?\d\S*e\+\d+, expected -?\d+$"),
    (ONE, "k + s > 0", "!PLANTED && @", WRONG.format(0, 0)),
    (TWO, "k + s > 0", "PLANTED ? s > 0 : @", WRONG.format(0, 0)),
    # C: box by box, by TMA.
    (TWO, "b_col ^ b_row % 8 * 4", "b_col ^ b_row % 8 * 4 * !PLANTED", WRONG.format(1, 0)),
    (TWO, "ptx::named_barrier_sync(1 + warp / 4, 128);  // the box is full", "if (!PLANTED) @", BOX),
    (TWO, "box[r][lane ^ r % 8 * 4]", "box[r][lane ^ r % 8 * 4 * !PLANTED]", WRONG.format(1, 0)),  # rows that TMA can't store
    (TWO, "ptx::bulk_commit_group();", "if (!PLANTED) @", NO_READ),
    (TWO, "ptx::bulk_wait_group<0>();", "if (!PLANTED) @", NO_READ),
    # Half of a tile waits in registers: pairs of boxes, when they leave, where to.
    (THREE, "ptx::bulk_wait_group_read<kBoxes / 2 - 1>();", "PLANTED ? ptx::bulk_wait_group_read<kBoxes / 2>() : @", BOX),
    (THREE, "ptx::named_barrier_sync(1 + warp / 4, 128);  // the pair is free", "if (!PLANTED) @", BOX),
    (THREE, "ptx::named_barrier_sync(1 + warp / 4, 128);  // the pair is full", "if (!PLANTED) @", BOX),
    (THREE, "next_pair ^= 1;", "next_pair ^= !PLANTED;", BOX),
    (THREE, "store(late[i], before.row, before.col + 128 + 64 * i);\n            ptx", "store(PLANTED ? acc[2 + i] : late[i], before.row, "
     "before.col + 128 + 64 * i);\n            ptx", r"C\[0\]\[128\] was not written"),  # sums under way
    (THREE, "memcpy(late, acc[2], sizeof(late));", "if (!PLANTED) @", WRONG.format(0, 128)),
    (THREE, "min((2 + 2 * i) * kStepK, last_k)", "(PLANTED ? (2 + 2 * i) * kStepK : min((2 + 2 * i) * kStepK, last_k))",
     r"C\[0\]\[128\] was not written"),
    (THREE, "before = at;", "if (!PLANTED) @", WRONG.format(0, 128)),
    (THREE, "(K - 1) / kStepK", "(K - !PLANTED) / kStepK", r"C\[0\]\[192\] was not written"),  # where K fills its last step
    # Tiles of 224: half a pair, which must not be stored to the next tile; barriers of the warpgroup's own.
    (FIVE, "number * 64 + j < kTileN", "(PLANTED || number * 64 + j < kTileN)",
     r"race in global memory: \S+:\d+ writes what \S+:\d+ writes"),
    (FIVE, "ptx::named_barrier_sync(1 + warp / 4, 128);  // the pair is full",
     "ptx::named_barrier_sync(1 + warp / 4 * !PLANTED, 128);", BOX),
    # A warpgroup alone: two steps' products under way, the buffer of the one before is given back.
    (LAST, "ptx::wgmma_wait_group<kAhead>();", "PLANTED ? ptx::wgmma_wait_group<kAhead + 1>() : @", OPERANDS),
    (LAST, "if (!kAhead || k > 0) release(", "if (!kAhead || PLANTED || k > 0) release(", OPERANDS),
    (LAST, "ptx::wgmma_wait_group<0>();", "if (!PLANTED) @", WRITTEN),
    (LAST, "if (kAhead) release(", "if (!PLANTED && kAhead) release(",
     r"deadlock: no thread of block 0 can go on: 129 threads in mbarrier_wait"),
    # Descriptors that go on from step to step.
    (LAST, "a + s * 2 / 16", "a + s * 2 / 16 * !PLANTED", WRONG.format(0, 0)),
    (LAST, "b + s * 128 / 16", "b + s * 128 / 16 * !PLANTED", WRONG.format(0, 0)),
    (LAST, "a += sizeof(shared.As[0]) / 16", "a += sizeof(shared.As[0]) / 16 * !PLANTED", OPERANDS),
    (LAST, "b += sizeof(shared.Bs[0]) / 16", "b += sizeof(shared.Bs[0]) / 16 * !PLANTED", OPERANDS),
    (LAST, "phase ^= 1, a = A_first", "phase ^= 1, a = PLANTED ? a : A_first", OPERANDS),
    (LAST, "before_it = buffer++", "before_it = PLANTED ? buffer : buffer++",
     r"out of bounds: \S+:\d+ reads 16 bytes, 16 bytes past the end of the \d+ bytes of dynamic shared memory"),
    (LAST, "phase ^= 1", "phase ^= !PLANTED", r"mbarrier_arrive_expect_tx: one arrival more than the 1 of phase 1 of the mbarrier"),
    # The two of a public kernel (README.md, "Two races of a public kernel"): no fence before the store; each thread waits for
    # stores, though one alone has asked for any, and no barrier follows.
    (TWO, "ptx::fence_proxy_async();", "if (!PLANTED) @", r"no fence_proxy_async\(\) after \S+:\d+ writes what \S+:\d+ reads "
     r"asynchronously \(block 0, threads 0 and 0's copy\)"),
    (TWO, "if (kTma && threadIdx.x % 128 == 0) ptx::bulk_wait_group_read<kBoxes - 1>();\n"
     "            ptx::named_barrier_sync(1 + warp / 4, 128);  // the box is free",
     "if (kTma && (PLANTED || threadIdx.x % 128 == 0)) ptx::bulk_wait_group_read<kBoxes - 1>();\n"
     "            if (!PLANTED) ptx::named_barrier_sync(1 + warp / 4, 128);", BOX),
    # The width that is launched is not the one that the formula counts.
    (FIVE, "best_form<T>(M, N, K).launch(", "(PLANTED ? launch<T, 128, 192> : best_form<T>(M, N, K).launch)(",
     r"\d+ bytes loaded from device memory, stated are \d+"),
)
FAULTS = [Fault(program, FILES[program], old, new.replace("@", old), said) for program, old, new, said in ROWS]
PLANTED = Planted("11_wgmma", FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_mistake_is_reported(fault):
    caught(PLANTED.run(fault, "--sizes", SHAPES[fault.program], "--verify-only"), fault)


@pytest.mark.parametrize("program", FILES)
def test_without_a_mistake_it_passes(program):
    assert PLANTED.run(program, "--sizes", SHAPES[program], "--verify-only").returncode == 0
