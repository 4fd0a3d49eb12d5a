# Included by tests/CMakeLists.txt.
# Not under compute-sanitizer, whose tools would check cuBLAS's kernels.
add_program_test(14_peers.cpu cpu peers --sizes 37x129x65,128,30x20x500 --verify-only)
add_program_test(14_peers.gpu gpu peers --sizes 37x129x65,256,300x200x5000 --verify-only)
add_special_values_test(14_fp32_accuracy.4_scales)
add_special_values_test(14_fp32_accuracy)
