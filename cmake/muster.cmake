# One function per kind of target, so that every stage is declared in the same few words.

# In dependency order: a stage includes only from itself and from the stages before it (tests/layering.sh checks).
set(MUSTER_STAGE_ORDER base data model clients profile grouping plan solver secure aggregate train ranks pki wire net cost
    record recipe engine report store web deploy app)

# What the libraries link: CMake packages with their oldest accepted version, and pkg-config modules. Whoever links an
# installed Muster must find the same ones, so musterConfig.cmake is written from these two lists.
set(MUSTER_PACKAGES "fmt 9" "nlohmann_json 3" "tomlplusplus 3" Threads ZLIB PNG "OpenSSL 3")
set(MUSTER_PKG_CONFIG_MODULES sndfile libsodium)

macro(muster_find_dependencies)
  foreach(package IN LISTS MUSTER_PACKAGES)
    separate_arguments(package)
    find_package(${package} REQUIRED)
  endforeach()
  find_package(PkgConfig REQUIRED)
  foreach(module IN LISTS MUSTER_PKG_CONFIG_MODULES)
    pkg_check_modules(${module} REQUIRED IMPORTED_TARGET ${module})  # the target is PkgConfig::<module>
  endforeach()
endmacro()

add_library(muster_flags INTERFACE)
target_compile_options(muster_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-psabi
  -Wno-missing-field-initializers  # naming only the fields that differ from their defaults is the point of them
  $<$<BOOL:${MUSTER_WERROR}>:-Werror>)
if(MUSTER_SANITIZE)
  # g++ 12 sees uninitialised members in moved variants once the sanitizers have instrumented them.
  target_compile_options(muster_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_compile_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE})
endif()

# muster_precompile(TARGET KIND HEADERS...): reading fmt or nlohmann takes longer than compiling most files, so targets of
# a kind share one precompiled header, which the first of them compiles. A kind is a set of compiler options: all targets
# of a kind must have the same.
function(muster_precompile target kind)
  get_property(owner GLOBAL PROPERTY MUSTER_PRECOMPILED_${kind})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY MUSTER_PRECOMPILED_${kind} ${target})
  endif()
endfunction()

set(MUSTER_COMMON_HEADERS <fmt/format.h> <algorithm> <filesystem> <functional> <memory> <optional> <span> <string>
  <variant> <vector>)

# What the libraries of a stage have in common.
function(muster_library_options target)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                              $<INSTALL_INTERFACE:include/muster>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:muster_flags>)
endfunction()

# Files of a target are compiled several at a time, which takes less than half the time of one by one: most of it goes
# into headers and templates that they share. So names at file scope, also in unnamed namespaces, differ within a target.
# Whoever changes one file over and over switches it off: -D MUSTER_TOGETHER=OFF.
function(muster_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${MUSTER_TOGETHER} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# Files that parse, print and arrange. Release builds do not optimise them as they do the rest: their compile time is
# large, their running time is not.
function(muster_cold_options target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  muster_precompile(${target} cold ${MUSTER_COMMON_HEADERS} <nlohmann/json.hpp>)
  muster_together(${target})
endfunction()

# muster_stage(NAME [INTERNAL] [TOGETHER] SOURCES a.cc b.cc [COLD c.cc] PUBLIC a.h DEPENDS earlier-stages... [LINK external-libraries...])
# PUBLIC headers are installed; they include no others of Muster (tests/install checks). All others are internal. An
# INTERNAL stage is not installed at all: those of MUSTER_NET and the store are, so that find_package(muster) needs no
# packages for networks and databases. TOGETHER: the files of SOURCES may be compiled several at a time, as those of COLD
# always are.
function(muster_stage name)
  cmake_parse_arguments(S "INTERNAL;TOGETHER" "" "SOURCES;COLD;PUBLIC;DEPENDS;LINK" ${ARGN})
  list(TRANSFORM S_DEPENDS PREPEND muster_)
  add_library(muster_${name} STATIC ${S_SOURCES})
  add_library(muster::${name} ALIAS muster_${name})
  muster_library_options(muster_${name})
  target_link_libraries(muster_${name} PUBLIC ${S_DEPENDS} ${S_LINK})
  muster_precompile(muster_${name} stage ${MUSTER_COMMON_HEADERS})
  if(S_TOGETHER)
    muster_together(muster_${name})
  endif()
  if(S_COLD)
    add_library(muster_${name}_cold OBJECT ${S_COLD})
    muster_library_options(muster_${name}_cold)
    target_link_libraries(muster_${name}_cold PRIVATE ${S_DEPENDS} ${S_LINK})
    muster_cold_options(muster_${name}_cold)
    target_sources(muster_${name} PRIVATE $<TARGET_OBJECTS:muster_${name}_cold>)
  endif()
  set_target_properties(muster_${name} PROPERTIES EXPORT_NAME ${name})
  if(S_INTERNAL)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY MUSTER_STAGES ${name})
  list(TRANSFORM S_PUBLIC PREPEND ${name}/)
  set_property(GLOBAL APPEND PROPERTY MUSTER_PUBLIC_HEADERS ${S_PUBLIC})
endfunction()

# muster_embed(FILE NAME LIST): adds to LIST a source file that has the text of FILE as `NAME`, and its SHA-256 in 64 hex
# digits as `NAMESha256`, both in namespace muster.
function(muster_embed file name list)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DNAME=${name} -DOUTPUT=${output} -P ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
    DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
    VERBATIM)
  set(${list} ${${list}} ${output} PARENT_SCOPE)
endfunction()

# What all tests share: a main function, a precompiled header and so the options. LEVEL: O0, or O1 where a test computes
# much by itself, or in templates that it shares with the libraries.
function(muster_test_options target level)
  target_link_libraries(${target} PRIVATE muster_flags GTest::gmock GTest::gtest fmt::fmt)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-${level}>
    $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=524288>)  # kB; collecting garbage sooner costs a twentieth
  # A few files at a time: most of the time goes into GoogleMock's templates, which they share.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  muster_precompile(${target} test_${level} ${MUSTER_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
endfunction()

function(muster_test_main)
  add_library(muster_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/main.cc)
  muster_test_options(muster_test_main O0)
endfunction()

# muster_test(STAGE [COMPUTES] SOURCES a_test.cc b_test.cc DEPENDS stages...)
function(muster_test name)
  cmake_parse_arguments(T "COMPUTES" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name}_test ${T_SOURCES} $<TARGET_OBJECTS:muster_test_main>)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/counted_new.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(level O0)
  if(T_COMPUTES)
    set(level O1)
  endif()
  muster_test_options(${name}_test ${level})
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  foreach(stage IN LISTS T_DEPENDS)
    target_link_libraries(${name}_test PRIVATE muster_${stage})
  endforeach()
  target_compile_definitions(${name}_test PRIVATE MUSTER_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()

# Of jobs that tests start: they may be run as root, on machines with fewer cores than ranks, and need no network.
set(MUSTER_MPI_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader
    OMPI_MCA_oob_tcp_if_include=lo)

# muster_mpi_test(NAME RANKS COMMAND...): a test that is a job of so many ranks on this machine.
function(muster_mpi_test name ranks)
  add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} --oversubscribe ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 ENVIRONMENT "${MUSTER_MPI_ENVIRONMENT}")
endfunction()
