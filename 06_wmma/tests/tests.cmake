# Included by tests/CMakeLists.txt. types is hundreds of small kernels: optimising them takes a minute and gains seconds.
add_program_tests(one_tile)
add_program_tests(types ARCHS sm_70 sm_75 sm_80 CPU --seed 2 TOOL --verify-only)
set_tests_properties(06_types.cpu.sm_70 PROPERTIES PASS_REGULAR_EXPRESSION "4 exact, 0 wrong, 25 not run")
set_tests_properties(06_types.cpu.sm_75 PROPERTIES PASS_REGULAR_EXPRESSION "23 exact, 0 wrong, 6 not run")
set_tests_properties(06_types.cpu.sm_80 PROPERTIES PASS_REGULAR_EXPRESSION "29 exact, 0 wrong, 0 not run")
if(TARGET types_cpu)
  target_compile_options(types_cpu PRIVATE -O0)
endif()
