# The list of all programs, which CMakeLists.txt includes. `cmake -P tools/programs.cmake` prints it as JSON, for the tools.
#
# The names of the files are the list of the ladder: NN_name/matmul.cu is a stage, NN_name/1_name.cu a step before it,
# and NN_name/matmul.cpp a stage in OpenCL. A program that is not a step of the ladder is listed in its chapter's
# programs.cmake:
#   add_product(half2.cu...)             another matrix product, with the command line of a stage
#   add_program(probe.cu...)             a CUDA program with options of its own
#   add_gpu_benchmark(curves.cu...)      times a library on a GPU, which the emulator does not have
#   add_host_benchmark(blas_host.cpp...) times the CPU, and needs no CUDA
#
# PROGRAMS are the targets. For each of them NAME_SOURCE, NAME_KIND, NAME_CHAPTER, NAME_TEST (the beginning of the names
# of its tests) and NAME_SHAPES (see read_shapes() below) are set. 04_unroll/1_unroll.cu is
# build/bin/04_unroll.1_unroll.
cmake_policy(VERSION 3.22)
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(watched CONFIGURE_DEPENDS)  # a new file makes the build tool call CMake
endif()

function(add_programs_of_kind kind)
  foreach(file ${ARGN})
    if(NOT EXISTS ${root}/${chapter}/${file})
      message(FATAL_ERROR "${chapter}/programs.cmake: there is no ${file}")
    endif()
    set_property(GLOBAL APPEND PROPERTY LISTED "${file}|${kind}")
  endforeach()
endfunction()
function(add_product)
  add_programs_of_kind(product ${ARGN})
endfunction()
function(add_program)
  add_programs_of_kind(other ${ARGN})
endfunction()
function(add_gpu_benchmark)
  add_programs_of_kind(gpu ${ARGN})
endfunction()
function(add_host_benchmark)
  add_programs_of_kind(host ${ARGN})
endfunction()

# read_shapes(variable chapter stem): the shapes MxNxK, lines of NN_name/tests/shapes.txt, at which a chapter's programs
# are tested beside those of every stage. A line may begin with the names of the files that it is for: "5_tile_shapes
# matmul: 65x676x2700".
function(read_shapes variable chapter stem)
  set(shapes)
  if(EXISTS ${root}/${chapter}/tests/shapes.txt)
    file(STRINGS ${root}/${chapter}/tests/shapes.txt lines)
    foreach(line ${lines})
      string(REGEX REPLACE "#.*" "" line "${line}")
      string(REGEX MATCHALL "[0-9]+x[0-9]+x[0-9]+" words "${line}")
      string(REGEX MATCH "^.*:" names "${line}")
      string(REGEX MATCHALL "[^ :]+" names "${names}")
      if(NOT names OR stem IN_LIST names)
        list(APPEND shapes ${words})
      endif()
    endforeach()
  endif()
  set(${variable} "${shapes}" PARENT_SCOPE)
endfunction()

set(PROGRAMS)
set(programs_json)
file(GLOB chapters RELATIVE ${root} ${watched} ${root}/[0-9][0-9]_*)
foreach(chapter ${chapters})
  set_property(GLOBAL PROPERTY LISTED)
  file(GLOB steps RELATIVE ${root}/${chapter} ${watched} ${root}/${chapter}/[0-9]_*.cu)
  file(GLOB stages RELATIVE ${root}/${chapter} ${watched} ${root}/${chapter}/matmul.cu)
  file(GLOB opencl RELATIVE ${root}/${chapter} ${watched} ${root}/${chapter}/matmul.cpp)
  file(GLOB others ${watched} ${root}/${chapter}/programs.cmake ${root}/${chapter}/tests/shapes.txt)
  add_programs_of_kind(step ${steps})
  add_programs_of_kind(stage ${stages})
  add_programs_of_kind(opencl ${opencl})
  include(${root}/${chapter}/programs.cmake OPTIONAL)
  if(NOT CMAKE_SCRIPT_MODE_FILE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${others})
  endif()
  get_property(listed GLOBAL PROPERTY LISTED)
  list(SORT listed)
  foreach(each ${listed})
    string(REGEX MATCH "^(.*)[|](.*)$" each "${each}")
    set(file ${CMAKE_MATCH_1})
    set(kind ${CMAKE_MATCH_2})
    get_filename_component(stem ${file} NAME_WE)
    read_shapes(shapes ${chapter} ${stem})
    # The names of the program: in full 04_unroll/1_unroll, in the rows of a table 04/1_unroll, and as a person types it
    # 04/1. A stage has its chapter's name, and 03 is enough if that chapter has no other step.
    string(SUBSTRING ${chapter} 0 2 number)
    set(called ${stem})
    set(row ${stem})
    set(short ${number}/${stem})
    if(kind STREQUAL step)
      set(called ${chapter}/${stem})
      set(row ${number}/${stem})
      string(REGEX REPLACE "_.*" "" short ${short})
    elseif(stem STREQUAL matmul)
      set(called ${chapter})
      set(row ${chapter})
      if(NOT steps)
        set(short ${number})
      endif()
    endif()
    string(REPLACE / . name ${called})  # the target
    set(test ${name})
    if(NOT name MATCHES "^${chapter}")
      set(test ${number}_${name})
    endif()
    list(APPEND PROGRAMS ${name})
    set(${name}_SOURCE ${root}/${chapter}/${file})
    set(${name}_KIND ${kind})
    set(${name}_CHAPTER ${chapter})
    set(${name}_TEST ${test})
    set(${name}_SHAPES ${shapes})
    list(JOIN shapes " " shapes)
    string(CONCAT json "{\"name\": \"${called}\", \"row\": \"${row}\", \"short\": \"${short}\", \"kind\": \"${kind}\", "
      "\"source\": \"${chapter}/${file}\", \"test\": \"${test}\", \"shapes\": \"${shapes}\"}")
    list(APPEND programs_json ${json})
  endforeach()
endforeach()
if(CMAKE_SCRIPT_MODE_FILE)
  list(JOIN programs_json ",\n" programs_json)
  message("[${programs_json}]")
endif()
