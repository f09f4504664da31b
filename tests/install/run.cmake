# run(COMMAND...): the command's output in `output`; a command that fails, fails the test. run_in(FOLDER COMMAND...)
# likewise, in that folder.
function(run_in where)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${where} RESULT_VARIABLE status OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "exit status ${status}: ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

macro(run)
  run_in(${CMAKE_CURRENT_LIST_DIR} ${ARGV})
endmacro()
