# A module is a folder of src/: one library target, and one test program of its *_test.cc files.

include(GoogleTest)

# Two precompiled headers: one of the standard library for everything that ships, one with GoogleTest for tests. Tests are
# compiled without optimisation: the code that they test is optimised, and half of a cold build is tests.
set(standard_headers
  <algorithm> <array> <chrono> <coroutine> <cstdint> <cstring> <deque> <expected> <functional> <map>
  <memory> <optional> <span> <string> <string_view> <utility> <variant> <vector>)
add_library(specgen_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
target_link_libraries(specgen_pch PRIVATE specgen_options)
target_precompile_headers(specgen_pch PRIVATE ${standard_headers})
add_library(specgen_test_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
target_link_libraries(specgen_test_pch PRIVATE specgen_options GTest::gtest)
target_compile_options(specgen_test_pch PRIVATE -O0)
target_precompile_headers(specgen_test_pch PRIVATE ${standard_headers} <gtest/gtest.h>)

function(use_specgen_options target)
  target_link_libraries(${target} PRIVATE specgen_options)
  target_precompile_headers(${target} REUSE_FROM specgen_pch)
endfunction()

function(use_specgen_test_options target)
  target_link_libraries(${target} PRIVATE specgen_options GTest::gtest GTest::gtest_main)
  target_compile_options(${target} PRIVATE -O0)
  target_precompile_headers(${target} REUSE_FROM specgen_test_pch)
endfunction()

add_custom_target(unit_tests)  # what runs under the sanitizers

# add_specgen_test(name LABEL l [SERIAL] SOURCES ... LIBRARIES ...): a GoogleTest program; ctest sees every test in it.
# SERIAL: nothing runs beside it.
function(add_specgen_test name)
  cmake_parse_arguments(arg "SERIAL" "LABEL;TIMEOUT" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  use_specgen_test_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  if(arg_LABEL STREQUAL unit)
    add_dependencies(unit_tests ${name})
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} RUN_SERIAL ${arg_SERIAL})
endfunction()

# add_module(name MODULES ... LIBRARIES ...): modules it may use, and third-party libraries of its .cc files.
function(add_module name)
  cmake_parse_arguments(arg "" "" "MODULES;LIBRARIES" ${ARGN})
  set(folder ${CMAKE_SOURCE_DIR}/src/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  add_library(${name} STATIC ${sources})
  use_specgen_options(${name})
  target_link_libraries(${name} PUBLIC ${arg_MODULES} PRIVATE ${arg_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY SPECGEN_MODULES ${name})
  if(tests)
    add_specgen_test(${name}_test LABEL unit SOURCES ${tests} LIBRARIES ${name} ${arg_LIBRARIES})
  endif()
endfunction()

# Compiles the headers that no .cc file of their own includes first, each alone, twice included and without the
# precompiled header. The others are checked by compiling their .cc (tests/tree/tidy_test.cc: it includes them first).
function(add_header_check)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/src/*.h)
  set(generated)
  foreach(header IN LISTS headers)
    string(REGEX REPLACE "\\.h$" ".cc" source ${header})
    if(EXISTS ${CMAKE_SOURCE_DIR}/src/${source})
      continue()
    endif()
    string(REPLACE "/" "_" stem ${header})
    set(file ${CMAKE_BINARY_DIR}/header_check/${stem}.cc)
    file(CONFIGURE OUTPUT ${file} CONTENT "#include \"${header}\"\n#include \"${header}\"\n" @ONLY)
    list(APPEND generated ${file})
  endforeach()
  add_library(header_check OBJECT ${generated})
  target_link_libraries(header_check PRIVATE specgen_options fmt_headers)
  target_compile_definitions(header_check PRIVATE SPECGEN_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
endfunction()
