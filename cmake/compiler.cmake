# The one supported compiler, and how it is called.

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  message(FATAL_ERROR
    "SpecGen needs clang 19 or newer; this is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}.\n"
    "g++ 12 miscompiles coroutines: of 25 plain co_await expressions 11 gave wrong code "
    "(captured lambdas, braced aggregates, conditional and switch operands), and deep awaits "
    "overflow the stack at -O0. docs/internals/decisions.md has the details.\n"
    "What to do: run scripts/setup, then `cmake --preset release` (or simply `make build`).")
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

set(SPECGEN_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")
option(SPECGEN_CHECK_INVARIANTS "Compile in checks that are too dear for every build" OFF)
option(SPECGEN_FUZZ "Build the libFuzzer targets" OFF)

add_library(specgen_options INTERFACE)
target_compile_options(specgen_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wshorten-64-to-32
  -Wimplicit-fallthrough -Wunreachable-code -Werror -fno-omit-frame-pointer)
target_include_directories(specgen_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
if(SPECGEN_CHECK_INVARIANTS)
  target_compile_definitions(specgen_options INTERFACE SPECGEN_CHECK_INVARIANTS=1)
endif()

if(SPECGEN_SANITIZE)
  add_compile_options(-fsanitize=${SPECGEN_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SPECGEN_SANITIZE})
else()
  # Both programs are copied to hosts that have no recent C++ runtime.
  add_link_options(-static-libstdc++ -static-libgcc)
endif()
if(SPECGEN_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers need the sloppiness, other clones of the same tree the base directory.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()
