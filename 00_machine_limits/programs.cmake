# Programs that are not steps of the ladder; see tools/programs.cmake.
add_host_benchmark(roofline_host.cpp blas_host.cpp)
add_gpu_benchmark(library_curves.cu)
add_program(roofline.cu latency.cu transfer.cu victims.cu)
