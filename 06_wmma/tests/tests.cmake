# Included by tests/CMakeLists.txt. types is hundreds of small kernels: optimising them takes a minute and gains seconds.
if(TARGET types_cpu)
  target_compile_options(types_cpu PRIVATE -O0)
  target_compile_options(types_cpu_trace PRIVATE -O0)
endif()
