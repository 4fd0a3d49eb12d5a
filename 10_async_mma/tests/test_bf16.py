"""With --bf16 the multiply's instruction is that of bfloat16: halves in its place are noticed."""
from mutate import Fault, Planted

BF16 = Planted("10_async_mma", [
    Fault("10_async_mma", "matmul.cu", "ptx::Pair<T> a[2]", "half2 a[2]", r"7 x 5 x 3: .*C\[0\]\[0\] is \S+, expected")])
test_fault_is_caught, test_without_a_fault_it_passes = BF16.tests("--bf16", "--sizes", "7x5x3,40x24x72", "--verify-only")
