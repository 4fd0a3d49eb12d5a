"""The chapter's programs notice what is planted in their kernels."""
import faults

test_faults_are_caught = faults.tests({name: ("--verify-only",) for name in ("latency", "roofline", "victims", "transfer")}, "-O1")
