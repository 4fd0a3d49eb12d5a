# The emulator's tests: C++, one program each, and Python. Included if GoogleTest is found.
add_library(emulator_test_device STATIC tests/device.cpp)
target_include_directories(emulator_test_device BEFORE PUBLIC ${EMULATOR_INCLUDES})
target_compile_options(emulator_test_device PRIVATE -O1 -Wall -Wextra ${WERROR})
target_link_libraries(emulator_test_device PUBLIC emulator GTest::gtest_main)

# Traced, except for tests of what an untraced build does differently.
foreach(program
    emulator_test_accesses_trace
    emulator_test_api
    emulator_test_api_trace
    emulator_test_async_trace
    emulator_test_clusters_trace
    emulator_test_cublas_trace
    emulator_test_cuda_ptx_trace
    emulator_test_curand_trace
    emulator_test_fragments_trace
    emulator_test_grid_trace
    emulator_test_half
    emulator_test_hopper_matmul_trace
    emulator_test_indices
    emulator_test_indices_trace
    emulator_test_inline_hopper_trace
    emulator_test_inline_ptx_trace
    emulator_test_launches_trace
    emulator_test_mbarriers_trace
    emulator_test_programs_trace
    emulator_test_ptx_trace
    emulator_test_races_trace
    emulator_test_record_trace
    emulator_test_requests_trace
    emulator_test_scheduler
    emulator_test_scheduler_trace
    emulator_test_streams_trace
    emulator_test_tensor_copies_trace
    emulator_test_warps_trace
    emulator_test_wgmma_trace
    emulator_test_wmma_trace
    emulator_test_written_trace)
  string(REGEX REPLACE "emulator_test_" "" test ${program})
  string(REGEX REPLACE "_trace$" "" source ${test})
  set(variant "")
  if(test MATCHES "_trace$")
    set(variant TRACE)
  endif()
  add_emulated_program(${program} tests/${source}_test.cu ${variant})
  set(optimised -O0)  # optimising many small kernels takes longer than running them
  if(source MATCHES "api|accesses|cublas|half|indices|requests|streams|written")  # unless lines and widths of inlined copies are tested, or many numbers
    set(optimised -O1)
  endif()
  target_compile_options(${program} PRIVATE ${optimised})
  # Parsing GoogleTest takes half of the build time, and most tests have the same flags.
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

# Compiled together with a file of the library that must not overflow an int.
add_executable(emulator_test_tensor_core tests/tensor_core_test.cpp warp/tensor_core.cpp)
target_compile_options(emulator_test_tensor_core PRIVATE -O1 -Wall -Wextra ${WERROR} -Wno-psabi
  -fsanitize=signed-integer-overflow -fsanitize-undefined-trap-on-error)
target_include_directories(emulator_test_tensor_core BEFORE PRIVATE ${EMULATOR_INCLUDES})
target_link_libraries(emulator_test_tensor_core PRIVATE emulator GTest::gtest_main)
set_target_properties(emulator_test_tensor_core PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
add_test(NAME emulator.tensor_core COMMAND emulator_test_tensor_core)
set_tests_properties(emulator.tensor_core PROPERTIES LABELS thorough ENVIRONMENT "NEEDS=emulator_test_tensor_core")

# What programs print, and how sources are rewritten. pytest belongs to Debian's own Python, which need not be the first
# on the PATH.
write_emulated_json()
foreach(python /usr/bin/python3 ${Python3_EXECUTABLE})
  execute_process(COMMAND ${python} -c "import importlib.util as u, sys; sys.exit(not u.find_spec('pytest'))"
    RESULT_VARIABLE failed ERROR_QUIET OUTPUT_QUIET)
  if(failed EQUAL 0)
    set(python_with_pytest ${python})
  endif()
endforeach()
file(GLOB files CONFIGURE_DEPENDS tests/test_*.py)
foreach(file ${files})
  string(REGEX REPLACE ".*/test_(.*).py" "emulator.\\1" test ${file})
  if(python_with_pytest)
    add_test(NAME ${test} COMMAND ${python_with_pytest} -B -m pytest -q -rsP -p no:cacheprovider ${file})
  else()
    add_test(NAME ${test} COMMAND sh -c "echo 'pytest is missing (python3-pytest)' && exit 77")
  endif()
  set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900 COST 10 LABELS thorough
    ENVIRONMENT "EMULATED=${CMAKE_CURRENT_BINARY_DIR}/emulated.json;BIN=${CMAKE_BINARY_DIR}/bin;PYTEST_DISABLE_PLUGIN_AUTOLOAD=1;\
NEEDS=python3-pytest emulator")
endforeach()
