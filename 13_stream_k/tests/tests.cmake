# Included by tests/CMakeLists.txt. In 2_stream_k the bits depend on which cluster is first.
foreach(program 13_stream_k.1_split_k 13_stream_k.3_fixup 13_stream_k)
  add_same_bits_test(${program})
endforeach()
set_tests_properties(13_stream_k.trace PROPERTIES COST 40)  # 47 configurations: it starts first
