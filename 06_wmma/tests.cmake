# The tests of the programs beside the stage, one_tile and types, and of the exercise; included by tests/CMakeLists.txt.
set(chapter ${CMAKE_CURRENT_LIST_DIR})

# On the CPU: plain, traced and under AddressSanitizer.
if(TARGET one_tile_cpu)
  foreach(variant cpu cpu_trace cpu_asan)
    target_compile_options(types_${variant} PRIVATE -O0)  # hundreds of small kernels: optimising them takes a minute and gains seconds
    add_skippable_test(06_one_tile.${variant} $<TARGET_FILE:one_tile_${variant}>)
    foreach(arch sm_70 sm_75 sm_80)
      add_skippable_test(06_types.${variant}.${arch} $<TARGET_FILE:types_${variant}> --arch ${arch} --seed 2)
    endforeach()
  endforeach()
  # How many rows an architecture has: none may be left out unseen.
  foreach(expected "sm_70;4 exact, 0 wrong, 25 not run" "sm_75;23 exact, 0 wrong, 6 not run" "sm_80;29 exact, 0 wrong, 0 not run")
    list(GET expected 0 arch)
    list(GET expected 1 rows)
    add_test(NAME 06_types.rows.${arch} COMMAND types_cpu --arch ${arch})
    set_tests_properties(06_types.rows.${arch} PROPERTIES PASS_REGULAR_EXPRESSION "${rows}")
  endforeach()
  foreach(program one_tile types)
    add_skippable_test(06_${program}.command_line_cpu
      ${PYTHON} ${CMAKE_SOURCE_DIR}/tests/wmma_command_line.py $<TARGET_FILE:${program}_cpu>)
  endforeach()

  add_skippable_test(06_one_tile.exercise ${PYTHON} ${CMAKE_SOURCE_DIR}/tests/wmma_exercise.py ${chapter}/one_tile.cu ${how}
    --patch ${chapter}/exercises/1_scaling.patch)
  add_skippable_test(06_types.faults ${PYTHON} ${CMAKE_SOURCE_DIR}/tests/wmma_faults.py ${chapter}/types.cu ${how})
  set_tests_properties(06_one_tile.exercise 06_types.faults PROPERTIES TIMEOUT 600)
else()
  add_skipped_test(06_one_tile.cpu "not built: Boost.Context is missing (libboost-context-dev)")
  add_skipped_test(06_types.cpu "not built: Boost.Context is missing (libboost-context-dev)")
endif()

# On a GPU; skipped without one.
if(TARGET one_tile)
  foreach(program one_tile types)
    set(options)
    if(program STREQUAL types)
      set(options --verify-only)  # times under a tool would mean nothing
    endif()
    add_skippable_test(06_${program}.gpu $<TARGET_FILE:${program}>)
    add_skippable_test(06_${program}.command_line ${PYTHON} ${CMAKE_SOURCE_DIR}/tests/wmma_command_line.py $<TARGET_FILE:${program}>)
    if(COMPUTE_SANITIZER)
      foreach(tool memcheck racecheck initcheck synccheck)
        add_skippable_test(06_${program}.${tool}
          ${COMPUTE_SANITIZER} --tool ${tool} --error-exitcode 1 $<TARGET_FILE:${program}> ${options})
      endforeach()
    endif()
    # No warning for any architecture, whatever the older ones leave out.
    foreach(arch 75 80 90)
      add_skippable_test(06_${program}.nvcc.sm_${arch} ${CMAKE_CUDA_COMPILER} -O3 -std=c++17 -arch=sm_${arch} -I${CMAKE_SOURCE_DIR}
        -Werror=all-warnings -Xcompiler=-Wall,-Wextra -cubin -o /dev/null ${chapter}/${program}.cu)
    endforeach()
  endforeach()
else()
  add_skipped_test(06_one_tile.gpu "not built: there is no CUDA toolkit")
  add_skipped_test(06_types.gpu "not built: there is no CUDA toolkit")
endif()
