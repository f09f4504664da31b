# One function per kind of target, so that every stage is declared in the same few words.

# In dependency order: a stage includes only from itself and from the stages before it (tests/layering.sh checks).
set(MUSTER_STAGE_ORDER base data model profile grouping plan solver aggregate train record engine app)

# What the libraries link: CMake packages with their oldest accepted version, and pkg-config modules. Whoever links an
# installed Muster must find the same ones, so musterConfig.cmake is written from these two lists.
set(MUSTER_PACKAGES "fmt 9" "nlohmann_json 3" "tomlplusplus 3" Threads ZLIB PNG)
set(MUSTER_PKG_CONFIG_MODULES sndfile)

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

# muster_stage(NAME SOURCES a.cc b.cc DEPENDS earlier-stages... [LINK external-libraries...])
function(muster_stage name)
  cmake_parse_arguments(S "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(muster_${name} STATIC ${S_SOURCES})
  add_library(muster::${name} ALIAS muster_${name})
  target_include_directories(muster_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                                   $<INSTALL_INTERFACE:include/muster>)
  target_compile_features(muster_${name} PUBLIC cxx_std_20)
  foreach(stage IN LISTS S_DEPENDS)
    target_link_libraries(muster_${name} PUBLIC muster_${stage})
  endforeach()
  target_link_libraries(muster_${name} PUBLIC ${S_LINK} PRIVATE $<BUILD_INTERFACE:muster_flags>)
  set_target_properties(muster_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY MUSTER_STAGES ${name})
endfunction()

# muster_cold_sources(a.cc b.cc): files that parse, print and arrange. Release builds do not optimise them as they do
# the rest: their compile time is large, their running time is not.
function(muster_cold_sources)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
endfunction()

# What all tests share: a main function, and one precompiled header, since reading GoogleTest takes longer than compiling
# most tests. A precompiled header fits only those who are compiled with the same options, so these are set here too.
function(muster_test_options target)
  target_link_libraries(${target} PRIVATE muster_flags GTest::gmock GTest::gtest fmt::fmt)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endfunction()

function(muster_test_main)
  add_library(muster_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/main.cc)
  muster_test_options(muster_test_main)
  target_precompile_headers(muster_test_main PRIVATE <fmt/format.h> <gmock/gmock.h> <gtest/gtest.h> <algorithm>
    <filesystem> <memory> <optional> <span> <string> <vector>)
endfunction()

# muster_test(STAGE SOURCES a_test.cc b_test.cc DEPENDS stages...)
function(muster_test name)
  cmake_parse_arguments(T "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name}_test ${T_SOURCES} $<TARGET_OBJECTS:muster_test_main>)
  muster_test_options(${name}_test)
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  foreach(stage IN LISTS T_DEPENDS)
    target_link_libraries(${name}_test PRIVATE muster_${stage})
  endforeach()
  target_compile_definitions(${name}_test PRIVATE MUSTER_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_precompile_headers(${name}_test REUSE_FROM muster_test_main)
  gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()
