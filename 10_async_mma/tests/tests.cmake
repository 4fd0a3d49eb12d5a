# Included by tests/CMakeLists.txt.
add_bf16_tests(${chapter})
