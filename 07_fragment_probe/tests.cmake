# The tests of this chapter; included by tests/CMakeLists.txt.
set(chapter ${CMAKE_CURRENT_LIST_DIR})
set(fragment_programs probe volta_tables custom_load)

# On the CPU: every program plain, traced and under AddressSanitizer, for each architecture whose fragments it takes.
if(TARGET emulator)
  foreach(program ${fragment_programs})
    target_compile_options(${program}_cpu_asan PRIVATE -O0)  # runs for milliseconds
    foreach(variant cpu cpu_trace cpu_asan)
      foreach(arch sm_70 sm_75 sm_80)
        set(options --arch ${arch})
        if(program STREQUAL probe)
          list(APPEND options --all)
        endif()
        if(NOT (program STREQUAL custom_load AND arch STREQUAL sm_70))  # it refuses that: command_line
          add_test(NAME 07_${program}.${variant}.${arch} COMMAND ${program}_${variant} ${options})
        endif()
      endforeach()
    endforeach()
    add_test(NAME 07_${program}.command_line_cpu
      COMMAND ${PYTHON} ${CMAKE_SOURCE_DIR}/tests/fragment_command_line.py $<TARGET_FILE:${program}_cpu>)
  endforeach()
  add_test(NAME 07_probe.layouts_cpu
    COMMAND ${PYTHON} ${CMAKE_SOURCE_DIR}/tests/fragment_layouts.py $<TARGET_FILE:probe_cpu> ${chapter})
  add_test(NAME 07_fragment_probe.readme
    COMMAND ${PYTHON} ${CMAKE_SOURCE_DIR}/tests/fragment_readme.py ${chapter} $<TARGET_FILE:probe_cpu> $<TARGET_FILE:volta_tables_cpu>)

  add_test(NAME 07_fragment_probe.faults COMMAND ${PYTHON} ${CMAKE_SOURCE_DIR}/tests/fragment_faults.py ${chapter} ${how})
  set_tests_properties(07_fragment_probe.faults PROPERTIES TIMEOUT 600)
else()
  add_skipped_test(07_fragment_probe.cpu "not built: Boost.Context is missing (libboost-context-dev)")
endif()

# On a GPU; skipped without one.
if(TARGET probe)
  foreach(program ${fragment_programs})
    set(options)
    if(program STREQUAL probe)
      set(options --all)
    endif()
    add_skippable_test(07_${program}.gpu ${program} ${options})
    add_skippable_test(07_${program}.command_line
      ${PYTHON} ${CMAKE_SOURCE_DIR}/tests/fragment_command_line.py $<TARGET_FILE:${program}>)
    if(COMPUTE_SANITIZER)
      if(program STREQUAL custom_load)
        set(options --check-only)  # times under a tool would mean nothing
      endif()
      foreach(tool memcheck racecheck initcheck synccheck)
        add_skippable_test(07_${program}.${tool}
          ${COMPUTE_SANITIZER} --tool ${tool} --error-exitcode 1 $<TARGET_FILE:${program}> ${options})
      endforeach()
    endif()
  endforeach()
  add_skippable_test(07_probe.layouts ${PYTHON} ${CMAKE_SOURCE_DIR}/tests/fragment_layouts.py $<TARGET_FILE:probe> ${chapter})
  add_test(NAME 07_fragment_probe.count_mma
    COMMAND ${PYTHON} ${CMAKE_SOURCE_DIR}/tests/fragment_count_mma.py ${chapter}/count_mma.py --nvcc ${CMAKE_CUDA_COMPILER})
else()
  add_skipped_test(07_fragment_probe.gpu "not built: there is no CUDA toolkit")
endif()
