"""latency's verification notices every fault planted in it; its CPU build verifies and times nothing."""
import pytest

from mutate import Fault, Planted, caught
from support import call, program

READS = "16-byte loads from L1: thread 0 adds up to"
FAULTS = (
    Fault("latency asan -O0", "chase.cuh", "i < steps; ++i) at = load_global", "i < steps - PLANTED; ++i) at = load_global",
          "chase in 4 KiB: after 31 loads it is at element"),
    Fault("latency asan -O0", "chase.cuh", "i < warm_up; ++i)", "i < warm_up - PLANTED; ++i)",
          "chase in 4 KiB: after 31 loads it is at element"),
    Fault("latency asan -O0", "chase.cuh", "random() % i]", "random() % (i + PLANTED)]",
          "the random order is no single cycle: from element 0 it visits"),
    Fault("latency asan -O0", "chase.cuh", "i < steps; ++i)\n        at = *", "i < steps - PLANTED; ++i) at = *",
          "chase in shared memory: after 4095 loads it is at byte"),
    Fault("latency asan -O0", "latency.cuh", "*result = Timed<T>{x, cycles};", "if (!PLANTED) *result = Timed<T>{x, cycles};",
          "nan, expected"),
    Fault("latency asan -O0", "latency.cuh", "pass < count;", "pass < count - PLANTED;", READS),
    Fault("latency asan -O0", "latency.cuh", "(at + chunk) & mask", "PLANTED ? at : (at + chunk) & mask", READS),
    Fault("latency asan -O0", "latency.cuh", "return v.x + v.y + v.z + v.w;", "return v.x + v.y + v.z + !PLANTED * v.w;", READS),
    Fault("latency asan -O0", "lines.cuh", "if (i < count)", "if (PLANTED || i < count)", "AddressSanitizer: heap-buffer-overflow"),
    Fault("latency asan -O0", "latency.cu", "random_cycle(bytes / sizeof(Line))", "random_cycle(bytes / sizeof(Line) + PLANTED)",
          "AddressSanitizer: "),
    # Ends where it should: the bytes alone tell.
    Fault("latency trace -O0", "chase.cuh", "i < warm_up; ++i)", "i < warm_up + 32 * PLANTED; ++i)",
          "chase in 4 KiB: 504 bytes loaded from device memory, stated are 248"),
    Fault("latency trace -O0", "chase.cuh", "for (int i = 0; i < kSharedWords; ++i) shared[i]",
          "for (int i = PLANTED; i < kSharedWords; ++i) shared[i]", "chase in shared memory: uninitialised shared memory"),
    Fault("latency trace -O0", "latency.cu", "chase_shared<<<1, 1>>>", "chase_shared<<<1, 1 + PLANTED>>>",
          "chase in shared memory: race"),
)
# A step too few in the chain that the environment names.
CHAIN = Fault("latency asan -O0", "latency.cuh", "step < kUnrolled; ++step)",
              'step < kUnrolled - (PLANTED && !strcmp(Op::kName, getenv("CHAIN"))); ++step)', "{}: a chain of 512 ends at")
PLANTED = Planted("00_machine_limits", (*FAULTS, CHAIN))
test_fault_is_caught, test_without_a_fault_it_passes = PLANTED.tests(faults=FAULTS)


@pytest.mark.parametrize("chain", ("FFMA", "FADD", "IADD3", "IMAD", "MULTIPLY64", "DFMA", "HFMA2", "MUFU"))
def test_shorter_chain_is_caught(chain, monkeypatch):
    monkeypatch.setenv("CHAIN", chain)
    caught(PLANTED.run(CHAIN), CHAIN._replace(said=CHAIN.said.format(chain)))


def test_cpu_build_prints_no_time():
    run = call(program("latency_cpu"))
    assert run.returncode == 0 and "Nothing was timed: the GPU build times." in run.stdout and "cycles" not in run.stdout
