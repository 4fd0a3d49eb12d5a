# The fit of transfer's times; included by tests/CMakeLists.txt.
if(TARGET GTest::gtest_main)
  add_executable(fit_test ${CMAKE_CURRENT_LIST_DIR}/fit_test.cpp)
  target_include_directories(fit_test PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(fit_test PRIVATE -Wall -Wextra -Werror)
  target_link_libraries(fit_test PRIVATE GTest::gtest_main)
  add_test(NAME 00_transfer.fit COMMAND fit_test)
endif()
