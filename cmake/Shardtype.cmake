# How the project's libraries and programs are compiled.

add_library(shardtype_options INTERFACE)
target_compile_options(shardtype_options INTERFACE
  -Wall -Wextra -Wshadow $<$<BOOL:${SHARDTYPE_WERROR}>:-Werror>)
# g++ 12 sees overlaps and ends of buffers in std::string's own functions that
# are not there, and takes the unused bytes of an empty optional for an
# uninitialised use.
target_compile_options(shardtype_options INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-restrict
  -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-stringop-overread>)
# clang reports libstdc++ 12's own std::stable_sort as deprecated.
target_compile_options(shardtype_options INTERFACE
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
if(SHARDTYPE_SANITIZE)
  target_compile_options(shardtype_options INTERFACE
    -fsanitize=${SHARDTYPE_SANITIZE} -fno-sanitize-recover=all -g)
  target_link_options(shardtype_options INTERFACE
    -fsanitize=${SHARDTYPE_SANITIZE})
endif()
if(SHARDTYPE_FUZZ)
  # Coverage of the libraries guides the fuzzer.
  target_compile_options(shardtype_options INTERFACE
    -fsanitize=fuzzer-no-link)
endif()
if(SHARDTYPE_ASSERTS)
  target_compile_options(shardtype_options INTERFACE -UNDEBUG)
endif()

# The heads of LLVM and the standard library take half of a file's compile time;
# they are read once. None of the project's own are among them: an edit of one
# rebuilds what includes it and no more. What CI builds with clang goes without,
# so that every file includes what it needs.
set(SHARDTYPE_PRECOMPILED
  <algorithm> <array> <functional> <map> <memory> <optional> <set> <string>
  <tuple> <variant> <vector> <llvm/ADT/ArrayRef.h> <llvm/ADT/DenseMap.h>
  <llvm/ADT/STLExtras.h> <llvm/ADT/SmallVector.h>
  <llvm/ADT/SmallVectorExtras.h> <llvm/ADT/StringExtras.h>
  <llvm/ADT/StringMap.h> <llvm/ADT/StringSet.h> <llvm/ADT/Twine.h>
  <llvm/Support/Allocator.h> <llvm/Support/raw_ostream.h>)

# shardtype_library(Name DEPENDS Other... [EXCEPTIONS] [OPTIMISED] SOURCES ...)
# OPTIMISED: its loops are where programs spend their time. No contraction: each
# operation rounds (spec 09, 0).
function(shardtype_library name)
  cmake_parse_arguments(ARG "EXCEPTIONS;OPTIMISED" "" "DEPENDS;SOURCES" ${ARGN})
  add_library(Shardtype${name} STATIC ${ARG_SOURCES})
  target_include_directories(Shardtype${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(Shardtype${name} SYSTEM PUBLIC
    ${LLVM_INCLUDE_DIRS})
  target_link_libraries(Shardtype${name} PRIVATE
    $<BUILD_INTERFACE:shardtype_options>)
  foreach(dep ${ARG_DEPENDS})
    target_link_libraries(Shardtype${name} PUBLIC Shardtype${dep})
  endforeach()
  if(NOT ARG_EXCEPTIONS)
    target_compile_options(Shardtype${name} PRIVATE -fno-exceptions)
  endif()
  # LLVM is built without run-time type information.
  target_compile_options(Shardtype${name} PRIVATE -fno-rtti)
  # Support is the first; a library with other options reads the heads itself,
  # and g++ 12 breaks down over heads precompiled at another level.
  if(ARG_OPTIMISED)
    target_compile_options(Shardtype${name} PRIVATE -ffp-contract=off
      $<$<CONFIG:Release>:-O3>)
  elseif(ARG_EXCEPTIONS OR name STREQUAL Support)
    target_precompile_headers(Shardtype${name} PRIVATE ${SHARDTYPE_PRECOMPILED})
  else()
    target_precompile_headers(Shardtype${name} REUSE_FROM ShardtypeSupport)
  endif()
  set_property(GLOBAL APPEND PROPERTY SHARDTYPE_LIBRARIES Shardtype${name})
endfunction()
