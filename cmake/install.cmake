# `cmake --install`: the programs, a static library and the public headers of every stage that is not internal, and the
# package files behind find_package(muster). muster::muster is all stages at once. The command line (app) is a program,
# not a library.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

list(JOIN MUSTER_PACKAGES "\" \"" MUSTER_PACKAGES_QUOTED)
set(MUSTER_PACKAGES_QUOTED "\"${MUSTER_PACKAGES_QUOTED}\"")
get_property(muster_stages GLOBAL PROPERTY MUSTER_STAGES)
list(REMOVE_ITEM muster_stages app)
list(TRANSFORM muster_stages PREPEND muster_ OUTPUT_VARIABLE muster_libraries)

add_library(muster_all INTERFACE)
add_library(muster::muster ALIAS muster_all)
target_link_libraries(muster_all INTERFACE ${muster_libraries})
set_target_properties(muster_all PROPERTIES EXPORT_NAME muster)

install(TARGETS ${muster_libraries} muster_all EXPORT musterTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET muster)
  install(TARGETS muster RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
  set(muster_writer muster)  # of the texts: whichever program knows the most commands
  if(TARGET muster-net)
    install(TARGETS muster-net RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
    set(muster_writer muster-net)
  endif()
  install(SCRIPT ${PROJECT_BINARY_DIR}/install_texts.cmake COMPONENT programs)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/install_texts.cmake CONTENT
    "set(program \"$<TARGET_FILE:${muster_writer}>\")\ninclude(\"${CMAKE_CURRENT_LIST_DIR}/install_texts.cmake\")\n")
endif()
get_property(muster_public_headers GLOBAL PROPERTY MUSTER_PUBLIC_HEADERS)
foreach(header IN LISTS muster_public_headers)
  get_filename_component(stage ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/src/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/muster/${stage})
endforeach()

set(muster_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/muster)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/musterConfig.cmake.in
  ${PROJECT_BINARY_DIR}/musterConfig.cmake INSTALL_DESTINATION ${muster_package_folder})
# Before 1.0 a minor release may change an interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/musterConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/musterConfig.cmake ${PROJECT_BINARY_DIR}/musterConfigVersion.cmake
  DESTINATION ${muster_package_folder})
install(EXPORT musterTargets NAMESPACE muster:: DESTINATION ${muster_package_folder})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)
