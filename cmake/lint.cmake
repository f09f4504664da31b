# `format-check` and `tidy`: targets outside the default build, for those who have clang-format and clang-tidy.
find_program(CLANG_FORMAT NAMES clang-format clang-format-14)
find_program(RUN_CLANG_TIDY NAMES run-clang-tidy run-clang-tidy-14)

if(CLANG_FORMAT)
  add_custom_target(format-check
    COMMAND find . -path ./build* -prune -o "(" -name *.h -o -name *.cc ")" -exec ${CLANG_FORMAT} --dry-run --Werror {} +
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMENT "Checking the format of the sources" VERBATIM)
else()
  add_custom_target(format-check COMMAND ${CMAKE_COMMAND} -E echo "format-check needs clang-format: apt-get install clang-format"
    COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
endif()
if(RUN_CLANG_TIDY)
  # Configured anew without precompiled headers, which are gcc's. Not the kernels, which use gcc's own vector builtins.
  add_custom_target(tidy
    COMMAND ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR} -B ${PROJECT_BINARY_DIR}/tidy -G ${CMAKE_GENERATOR}
            -DCMAKE_BUILD_TYPE=Debug -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DMUSTER_BUILD_TESTS=OFF
    COMMAND ${RUN_CLANG_TIDY} -quiet -p ${PROJECT_BINARY_DIR}/tidy "^${PROJECT_SOURCE_DIR}/src/(?!model/kernels/)"
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMENT "Running clang-tidy over src" USES_TERMINAL VERBATIM)
else()
  add_custom_target(tidy COMMAND ${CMAKE_COMMAND} -E echo "tidy needs clang-tidy: apt-get install clang-tidy"
    COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
endif()
