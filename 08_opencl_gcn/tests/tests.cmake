# What a file of several tests is registered as; included by tests/CMakeLists.txt.
foreach(device cpu mesa gpu)
  add_pytest(08_opencl_gcn.${device} 08_opencl_gcn/tests/test_devices.py -k ${device})
endforeach()
add_pytest(08_opencl_gcn.oclgrind 08_opencl_gcn/tests/test_oclgrind.py -k clean)
add_pytest(08_opencl_gcn.faults 08_opencl_gcn/tests/test_oclgrind.py -k fault)

# The machine code for the slides' GPU. `cmake --build build --target gcn` prints it.
add_custom_target(gcn COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/08_opencl_gcn/gcn.py --save ${CMAKE_BINARY_DIR}/gcn
  USES_TERMINAL VERBATIM)
