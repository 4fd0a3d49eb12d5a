# The emulator's tests: kernels in a plain and a traced build, and what needs no kernel. Included where GoogleTest is found. Each
# binary is one test of ctest. The matrix functions are tested traced alone: the stage 06 and the probes of 07 run them untraced.
set(tests ${CMAKE_CURRENT_SOURCE_DIR}/tests)

add_emulated_program(emulator_test_kernels ${tests}/kernels_test.cu)
add_emulated_program(emulator_test_kernels_trace ${tests}/kernels_test.cu TRACE)
add_emulated_program(emulator_test_trace ${tests}/trace_test.cu TRACE)
add_emulated_program(emulator_test_wmma_trace ${tests}/wmma_test.cu TRACE)
add_emulated_program(emulator_test_ptx_trace ${tests}/ptx_test.cu TRACE)
add_emulated_program(emulator_test_async_trace ${tests}/async_test.cu TRACE)
add_emulated_program(emulator_test_wgmma_trace ${tests}/wgmma_test.cu TRACE)
add_emulated_program(emulator_test_cluster_trace ${tests}/cluster_test.cu TRACE)
add_emulated_program(emulator_test_hopper_matmul_trace ${tests}/hopper_matmul_test.cu TRACE)
add_emulated_program(emulator_test_asan ${tests}/asan_test.cu ASAN)
# Many small kernels: optimising them takes longer than running them, and mma.h says itself what it accesses.
foreach(name kernels kernels_trace wmma_trace ptx_trace async_trace wgmma_trace cluster_trace hopper_matmul_trace)
  target_compile_options(emulator_test_${name} PRIVATE -O0)
endforeach()

add_executable(emulator_test_host ${tests}/host_test.cpp)
target_compile_options(emulator_test_host PRIVATE -O1 -Wall -Wextra -Werror)
target_include_directories(emulator_test_host BEFORE PRIVATE ${EMULATOR_INCLUDES})
target_link_libraries(emulator_test_host PRIVATE emulator)
set_target_properties(emulator_test_host PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

foreach(name host kernels kernels_trace trace wmma_trace ptx_trace async_trace wgmma_trace cluster_trace hopper_matmul_trace)
  target_link_libraries(emulator_test_${name} PRIVATE GTest::gtest_main)
  add_test(NAME emulator.${name} COMMAND emulator_test_${name} --gtest_brief=1)
endforeach()
