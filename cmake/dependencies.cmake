# Libraries from Debian packages (scripts/setup). Static wherever Debian ships an archive, so that
# the programs run on hosts without our packages; docs/internals/decisions.md says why each was chosen.

find_package(Threads REQUIRED)
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.81 REQUIRED COMPONENTS json)

# Debian's toml++ is a shared library that drags in a second C++ runtime, and an exception thrown
# across the two ends the program: compile it from its headers.
add_library(toml_headers INTERFACE)
find_path(TOML_INCLUDE NAMES toml++/toml.h REQUIRED)
target_include_directories(toml_headers SYSTEM INTERFACE ${TOML_INCLUDE})
find_package(GTest REQUIRED)

function(static_library name archive header)
  find_library(${name}_archive NAMES ${archive})
  find_path(${name}_include NAMES ${header})
  if(NOT ${name}_archive OR NOT ${name}_include)
    message(FATAL_ERROR "${archive} or ${header} is missing. What to do: run scripts/setup.")
  endif()
  add_library(${name} STATIC IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${${name}_archive})
endfunction()
static_library(sqlite_static libsqlite3.a sqlite3.h)
static_library(sodium_static libsodium.a sodium.h)
static_library(zlib_static libz.a zlib.h)
static_library(seccomp_static libseccomp.a seccomp.h)
static_library(xxhash_static libxxhash.a xxhash.h)
static_library(re2_static libre2.a re2/re2.h)
set_property(TARGET re2_static PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads)
set_property(TARGET sqlite_static PROPERTY INTERFACE_LINK_LIBRARIES ${CMAKE_DL_LIBS} m Threads::Threads)

# Debian has fmt as a shared library only; src/base/fmt_library.cc compiles it from its headers.
add_library(fmt_headers INTERFACE)
find_path(FMT_INCLUDE NAMES fmt/format-inl.h REQUIRED)
target_include_directories(fmt_headers SYSTEM INTERFACE ${FMT_INCLUDE})

# libcurl is loaded when it is first needed (src/generate/http/curl_library.h); `make dist` carries it.
find_path(CURL_INCLUDE NAMES curl/curl.h)
if(NOT CURL_INCLUDE)
  message(FATAL_ERROR "curl/curl.h is missing. What to do: run scripts/setup.")
endif()

# The controller makes and drops small things all day: with jemalloc it takes a sixth less time than with the C library's
# allocator (docs/internals/decisions.md). Sanitizers bring their own.
add_library(fast_allocator_or_nothing INTERFACE)
find_library(JEMALLOC_ARCHIVE NAMES libjemalloc_pic.a)
if(JEMALLOC_ARCHIVE AND NOT SPECGEN_SANITIZE)
  target_link_libraries(fast_allocator_or_nothing INTERFACE ${JEMALLOC_ARCHIVE} m Threads::Threads ${CMAKE_DL_LIBS})
endif()
