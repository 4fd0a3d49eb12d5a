"""The chapter's programs notice what is planted in their kernels. What probe prints, test_layouts.py compares."""
import faults

test_faults_are_caught = faults.tests({"probe": ("--all",), "volta_tables": (), "mma_maps": (), "custom_load": ()}, "-O0")
test_faults_of_instructions_are_caught = faults.tests({"ptx_check": ()}, "-O1")  # it has many, so it is to run fast
