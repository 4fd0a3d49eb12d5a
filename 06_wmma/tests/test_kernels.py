"""The chapter's other programs notice what is planted in their kernels."""
import faults

test_faults_are_caught = faults.tests({"one_tile": (), "types": ()}, "-O0")
