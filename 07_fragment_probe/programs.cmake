# Programs that are not steps of the ladder; see tools/programs.cmake.
add_program(alignment.cu custom_load.cu mma_maps.cu probe.cu volta_tables.cu what_it_adds.cu
  tests/ptx_check.cu tests/tensor_core_check.cu)
