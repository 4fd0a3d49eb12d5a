# Included by tests/CMakeLists.txt.
foreach(program roofline latency victims)
  add_program_tests(${program} OPTIONS --verify-only)
endforeach()
add_program_tests(transfer OPTIONS --verify-only TOOL --sizes 64:64:1)
add_program_test(00_library_curves.gpu gpu library_curves --verify-only)  # has no kernel of its own
add_skippable_test(00_blas_host $<TARGET_FILE:blas_host> --verify-only)
test_needs(00_blas_host blas_host libopenblas0)
