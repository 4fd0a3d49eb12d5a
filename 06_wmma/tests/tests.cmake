# Included by tests/CMakeLists.txt. types is hundreds of small kernels: optimising them takes a minute and gains seconds.
add_program_tests(one_tile)
add_program_tests(types ARCHS sm_70 sm_75 sm_80 CPU --seed 2 TOOL --verify-only)
if(TARGET types_cpu)
  target_compile_options(types_cpu_trace PRIVATE -O0)
endif()
