# Included by tests/CMakeLists.txt.
add_program_test(14_peers.gpu gpu peers --sizes 37x129x65,256,300x200x5000 --verify-only)
add_special_values_test(14_fp32_accuracy.4_scales)
add_special_values_test(14_fp32_accuracy)
