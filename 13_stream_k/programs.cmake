# Programs that are not steps of the ladder; see tools/programs.cmake.
add_gpu_benchmark(configs.cu)
