# What is no step of the ladder: see tools/programs.cmake.
add_gpu_benchmark(peers.cu)
