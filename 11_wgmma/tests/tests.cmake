# Included by tests/CMakeLists.txt: all programs of this chapter take --bf16.
foreach(program ${PROGRAMS})
  if(${program}_CHAPTER STREQUAL chapter)
    add_bf16_tests(${program})
  endif()
endforeach()
