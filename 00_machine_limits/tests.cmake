# The tests of the machine's limits: the kernels' verification, the fit, the CPU's sweep; included by tests/CMakeLists.txt.
set(chapter ${CMAKE_CURRENT_LIST_DIR})
set(tests ${CMAKE_SOURCE_DIR}/tests)

if(TARGET emulator)
  foreach(program roofline latency transfer)
    target_compile_options(${program}_cpu_asan PRIVATE -O0)  # runs for a second
  endforeach()
  foreach(variant cpu cpu_trace cpu_asan)
    foreach(program roofline latency transfer)
      add_test(NAME 00_${program}.${variant} COMMAND ${program}_${variant} --verify-only)
    endforeach()
  endforeach()
  add_skippable_test(00_library_curves.cpu $<TARGET_FILE:library_curves_cpu> --verify-only)
  add_test(NAME 00_roofline.faults COMMAND ${PYTHON} ${tests}/limits_roofline.py ${chapter}/roofline.cu ${how}
    --programs $<TARGET_FILE:roofline_cpu> $<TARGET_FILE:roofline_cpu_trace> $<TARGET_FILE:roofline_host>)
  add_test(NAME 00_latency.faults COMMAND ${PYTHON} ${tests}/limits_latency.py ${chapter}/latency.cu ${how})
  add_test(NAME 00_latency.command_line_cpu COMMAND ${PYTHON} ${tests}/limits_latency_command_line.py $<TARGET_FILE:latency_cpu>)
  add_test(NAME 00_transfer.faults COMMAND ${PYTHON} ${tests}/limits_curves.py ${chapter}/transfer.cu ${how}
    --programs $<TARGET_FILE:transfer_cpu> $<TARGET_FILE:library_curves_cpu> $<TARGET_FILE:transfer_cpu_trace>)
else()
  add_skipped_test(00_machine_limits.cpu "not built: Boost.Context is missing (libboost-context-dev)")
endif()

if(TARGET GTest::gtest_main)
  add_executable(limits_fit_test ${tests}/limits_fit_test.cpp)
  target_include_directories(limits_fit_test PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(limits_fit_test PRIVATE -Wall -Wextra -Werror)
  target_link_libraries(limits_fit_test PRIVATE GTest::gtest_main)
  gtest_discover_tests(limits_fit_test TEST_PREFIX 00_transfer.)
endif()

# On a GPU; skipped without one.
if(TARGET roofline)
  foreach(program roofline latency transfer library_curves)
    add_skippable_test(00_${program}.gpu $<TARGET_FILE:${program}> --verify-only)
  endforeach()
  add_skippable_test(00_latency.command_line ${PYTHON} ${tests}/limits_latency_command_line.py $<TARGET_FILE:latency>)
  if(COMPUTE_SANITIZER)
    foreach(tool memcheck racecheck initcheck synccheck)
      add_skippable_test(00_latency.${tool}
        ${COMPUTE_SANITIZER} --tool ${tool} --error-exitcode 1 $<TARGET_FILE:latency> --verify-only)
      add_skippable_test(00_transfer.${tool}
        ${COMPUTE_SANITIZER} --tool ${tool} --error-exitcode 1 $<TARGET_FILE:transfer> --verify-only --sizes 64:64:1)
      add_skippable_test(00_roofline.${tool}
        ${COMPUTE_SANITIZER} --tool ${tool} --error-exitcode 1 $<TARGET_FILE:roofline> --verify-only)
    endforeach()
  endif()
else()
  add_skipped_test(00_machine_limits.gpu "not built: there is no CUDA toolkit")
endif()
