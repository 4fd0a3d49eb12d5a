# The OpenCL stages: on the CPU's OpenCL, under Oclgrind, compiled for GCN, on a GPU; included by tests/CMakeLists.txt.
set(chapter ${CMAKE_CURRENT_LIST_DIR})
set(tests ${CMAKE_SOURCE_DIR}/tests)

# add_opencl_test(name command...): what PoCL compiles stays in the build folder.
function(add_opencl_test name)
  add_skippable_test(${name} ${ARGN})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT POCL_CACHE_DIR=${CMAKE_BINARY_DIR}/pocl)
endfunction()

add_opencl_test(08_opencl_gcn.steps ${PYTHON} ${tests}/opencl_steps.py ${chapter})

# The machine code for the slides' GPU. `cmake --build build --target gcn` prints it.
add_custom_target(gcn COMMAND ${PYTHON} ${chapter}/gcn.py --save ${CMAKE_BINARY_DIR}/gcn USES_TERMINAL VERBATIM)
add_opencl_test(08_opencl_gcn.gcn ${PYTHON} ${tests}/gcn_test.py ${chapter}/gcn.py ${chapter})

if(NOT TARGET 08_opencl_gcn)
  add_skipped_test(08_opencl_gcn.cpu "not built: OpenCL is missing (opencl-clhpp-headers, ocl-icd-opencl-dev)")
  add_skipped_test(08_opencl_gcn.gpu "not built: OpenCL is missing (opencl-clhpp-headers, ocl-icd-opencl-dev)")
  return()
endif()

set(program $<TARGET_FILE:08_opencl_gcn>)
set(shapes ${ragged} 300x517x129)
add_opencl_test(08_opencl_gcn.cpu ${tests}/opencl_device.sh "Portable Computing Language" ${program} ${shapes})
# A second OpenCL on the CPU, where the package mesa-opencl-icd is there.
add_opencl_test(08_opencl_gcn.mesa ${tests}/opencl_device.sh rusticl ${program} ${shapes})
set_tests_properties(08_opencl_gcn.mesa PROPERTIES
  ENVIRONMENT "RUSTICL_ENABLE=llvmpipe;OCL_ICD_VENDORS=/etc/OpenCL/vendors/rusticl.icd")
add_opencl_test(08_opencl_gcn.gpu ${tests}/opencl_device.sh ", GPU," ${program}
  ${shapes} 5000x3000x4001 2000000x16x8 4096x4096x4096 8192x8192x8192)
add_opencl_test(08_opencl_gcn.command_line ${PYTHON} ${tests}/opencl_command_line.py ${program} ${chapter})

foreach(stage 01 02 03 04 05)
  add_opencl_test(08_opencl_gcn.oclgrind.${stage} ${PYTHON} ${tests}/opencl_oclgrind.py ${program} ${stage}
    1x1x1 128x128x16 129x130x9)
endforeach()
add_opencl_test(08_opencl_gcn.faults ${PYTHON} ${tests}/opencl_faults.py ${program} ${chapter})
add_opencl_test(08_opencl_gcn.readme ${PYTHON} ${tests}/opencl_readme.py ${CMAKE_SOURCE_DIR})
