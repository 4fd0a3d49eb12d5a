# Programs that are not steps of the ladder; see tools/programs.cmake.
add_product(fp32.cu)
