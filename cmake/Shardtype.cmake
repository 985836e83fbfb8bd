# How the project's libraries and programs are compiled.

add_library(shardtype_options INTERFACE)
target_compile_options(shardtype_options INTERFACE
  -Wall -Wextra -Wshadow $<$<BOOL:${SHARDTYPE_WERROR}>:-Werror>)
# g++ 12 sees overlaps in std::string's own operator+ that are not there, and
# takes the unused bytes of an empty optional for an uninitialised use.
target_compile_options(shardtype_options INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-maybe-uninitialized>)
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

# shardtype_library(Name DEPENDS Other... [EXCEPTIONS] SOURCES a.cpp ...)
function(shardtype_library name)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "DEPENDS;SOURCES" ${ARGN})
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
  set_property(GLOBAL APPEND PROPERTY SHARDTYPE_LIBRARIES Shardtype${name})
endfunction()
