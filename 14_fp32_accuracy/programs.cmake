# What is no step of the ladder: see tools/programs.cmake.
add_program(peers.cu)
