# Every installed header compiles, with nothing of Muster to include but the other installed ones: all of them in one
# file, first to last and last to first, so that none leans on what a later or an earlier one includes. With
# MUSTER_HEADERS=alone each on its own, which takes ten times as long.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
set(include ${FOLDER}/prefix/include/muster)
file(GLOB_RECURSE headers RELATIVE ${include} ${include}/*.h)
if(NOT headers)
  message(FATAL_ERROR "no headers in ${include}")
endif()

function(compile)
  list(TRANSFORM ARGN REPLACE "(.+)" "#include \"\\1\"\n")
  list(JOIN ARGN "" text)
  file(WRITE ${FOLDER}/header.cc "${text}")
  run(${COMPILER} -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I ${include} ${FOLDER}/header.cc)
endfunction()

if("$ENV{MUSTER_HEADERS}" STREQUAL "alone")
  foreach(header IN LISTS headers)
    compile(${header})
  endforeach()
  return()
endif()
compile(${headers})
list(REVERSE headers)
compile(${headers})
