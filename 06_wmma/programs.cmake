# Programs that are not steps of the ladder; see tools/programs.cmake.
add_product(half2.cu plain.cu)
add_program(one_tile.cu tests/types.cu)
