# Installs into a fresh folder, builds the outside program against it and
# compares what that prints. Run by ctest with BUILD, SOURCE and CXX defined.
set(prefix ${BUILD}/test-install)
file(REMOVE_RECURSE ${prefix} ${BUILD}/test-outside)
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE text
    ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGV}\n${text}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD}/test-outside
  -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CXX})
run(${CMAKE_COMMAND} --build ${BUILD}/test-outside)
execute_process(COMMAND ${BUILD}/test-outside/outside RESULT_VARIABLE code
  OUTPUT_VARIABLE text)
set(expected "f32[8,4@X]
f32[4@X,16]
f32[8,16]
f32[8,16]
f32[8,4]
dot-contracting-ambiguous: both contracting dims are sharded over 'X', so the result has more than one possible type
  f32[8,16]
  f32[8@X,16]
  f32[8,16@X]
  f32[8,16]{U:X}
all-gather among 2: 64 bytes sent
11
22
")
if(NOT text STREQUAL expected OR NOT code EQUAL 1)
  message(FATAL_ERROR "exit ${code}, printed:\n${text}")
endif()
