# The emulator's tests, a program each. Included where GoogleTest is found.
add_library(emulator_test_device STATIC tests/device.cpp)
target_include_directories(emulator_test_device BEFORE PUBLIC ${EMULATOR_INCLUDES})
target_compile_options(emulator_test_device PRIVATE -O1 -Wall -Wextra ${WERROR})
target_link_libraries(emulator_test_device PUBLIC emulator GTest::gtest_main)

# Traced, but for what an untraced build does in its own way.
foreach(program
    emulator_test_accesses_trace emulator_test_api emulator_test_api_trace emulator_test_async_trace emulator_test_clusters_trace
    emulator_test_fragments_trace emulator_test_half emulator_test_hopper_matmul_trace emulator_test_mbarriers_trace
    emulator_test_programs_trace emulator_test_ptx_trace emulator_test_races_trace
    emulator_test_record_trace emulator_test_requests_trace emulator_test_scheduler emulator_test_scheduler_trace emulator_test_streams_trace
    emulator_test_tensor_copies_trace emulator_test_warps_trace emulator_test_wgmma_trace emulator_test_wmma_trace)
  string(REGEX REPLACE "emulator_test_" "" test ${program})
  string(REGEX REPLACE "_trace$" "" source ${test})
  set(variant "")
  if(test MATCHES "_trace$")
    set(variant TRACE)
  endif()
  add_emulated_program(${program} tests/${source}_test.cu ${variant})
  set(optimised -O0)  # optimising many small kernels takes longer than running them
  if(source MATCHES "api|accesses|half|requests|streams")  # unless it is lines and widths of inlined copies that count, or many numbers
    set(optimised -O1)
  endif()
  target_compile_options(${program} PRIVATE ${optimised})
  # Parsing GoogleTest takes half of the time, and most have the same flags.
  if(variant AND optimised STREQUAL "-O0")
    if(precompiled)
      target_precompile_headers(${program} REUSE_FROM ${precompiled})
    else()
      target_precompile_headers(${program} PRIVATE tests/device.h)
      set(precompiled ${program})
    endif()
  endif()
  target_link_libraries(${program} PRIVATE emulator_test_device)
  add_test(NAME emulator.${test} COMMAND ${program})
  set_tests_properties(emulator.${test} PROPERTIES LABELS thorough ENVIRONMENT "NEEDS=${program}")  # what ./test builds for it
endforeach()

add_emulated_program(emulator_test_asan tests/asan_test.cu ASAN)  # run by test_asan.py
add_emulated_program(emulator_requests_of tests/requests_of.cu TRACE)  # run by tests/test_view_pages.py
