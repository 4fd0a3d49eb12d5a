"""The chapter's programs notice what is planted in their kernels. What probe prints, test_layouts.py compares."""
import faults

test_fault_is_caught = faults.tests({"probe": ("--all",), "volta_tables": (), "ptx_check": (), "mma_maps": (), "custom_load": ()},
                                    "-O0")
