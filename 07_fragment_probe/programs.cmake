# What is no step of the ladder: see tools/programs.cmake.
add_program(alignment.cu custom_load.cu mma_maps.cu probe.cu ptx_check.cu volta_tables.cu)
