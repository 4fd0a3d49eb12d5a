# The emulator's tests: kernels in a plain and a traced build, and what needs no kernel. Included where GoogleTest is found.
include(GoogleTest)
set(tests ${CMAKE_CURRENT_SOURCE_DIR}/../tests)

add_emulated_program(emulator_test_kernels ${tests}/emulator_test_kernels.cu)
add_emulated_program(emulator_test_kernels_trace ${tests}/emulator_test_kernels.cu TRACE)
add_emulated_program(emulator_test_wmma ${tests}/emulator_test_wmma.cu)
add_emulated_program(emulator_test_wmma_trace ${tests}/emulator_test_wmma.cu TRACE)
add_emulated_program(emulator_test_asan ${tests}/emulator_test_kernels_asan.cu ASAN)
# Many small kernels: optimising them takes a minute and gains seconds. What counts accesses needs some of it.
target_compile_options(emulator_test_wmma PRIVATE -O0)
target_compile_options(emulator_test_wmma_trace PRIVATE -O1)
target_link_libraries(emulator_test_kernels PRIVATE GTest::gtest_main)
target_link_libraries(emulator_test_kernels_trace PRIVATE GTest::gtest_main)
target_link_libraries(emulator_test_wmma PRIVATE GTest::gtest_main)
target_link_libraries(emulator_test_wmma_trace PRIVATE GTest::gtest_main)

add_executable(emulator_test ${tests}/emulator_test.cpp)
target_compile_options(emulator_test PRIVATE -Wall -Wextra -Werror)
target_compile_definitions(emulator_test PRIVATE
  EMULATOR_REWRITE="${EMULATOR_REWRITE}" EMULATOR_TEST_ASAN="$<TARGET_FILE:emulator_test_asan>")
target_link_libraries(emulator_test PRIVATE emulator GTest::gtest_main)
add_dependencies(emulator_test emulator_test_asan)
set_target_properties(emulator_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

gtest_discover_tests(emulator_test TEST_PREFIX emulator.)
gtest_discover_tests(emulator_test_kernels TEST_PREFIX emulator.plain. TEST_FILTER -Trace.*)
gtest_discover_tests(emulator_test_kernels_trace TEST_PREFIX emulator.trace.)
gtest_discover_tests(emulator_test_wmma TEST_PREFIX emulator.wmma.plain. TEST_FILTER -Trace.*)
gtest_discover_tests(emulator_test_wmma_trace TEST_PREFIX emulator.wmma.trace.)
