# `cpack -G DEB` in a build with MUSTER_NET: one Debian package of the programs, their texts and the services. Of what
# `cmake --install` puts in place it takes the component `programs`; `services` is for packages alone, since units name
# the folders that packages use. What the programs need is found by dpkg-shlibdeps.
if(NOT MUSTER_NET)
  return()
endif()

set(packaging ${PROJECT_SOURCE_DIR}/packaging)
install(FILES ${packaging}/systemd/muster-cloud.service ${packaging}/systemd/muster-edge@.service
  ${packaging}/systemd/muster-client@.service DESTINATION lib/systemd/system COMPONENT services EXCLUDE_FROM_ALL)
install(PROGRAMS ${packaging}/systemd/cloud-service DESTINATION lib/muster COMPONENT services EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/docs/deploy.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT services
  EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME muster)
set(CPACK_PACKAGE_VENDOR Muster)
# Whoever builds a package answers for it.
set(MUSTER_PACKAGE_CONTACT "The builder of this package <root@localhost>" CACHE STRING
  "Maintainer of the Debian package: Name <address>")
set(CPACK_PACKAGE_CONTACT ${MUSTER_PACKAGE_CONTACT})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "grouped federated learning, simulated and deployed")
set(CPACK_PACKAGE_DESCRIPTION "The program muster simulates federations from recipes; muster-net deploys the same recipes
to a cloud, edges and clients over mutual TLS. With units for systemd, which are not started by themselves.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL programs services)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS passwd)  # useradd, in postinst
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${packaging}/debian/postinst ${packaging}/debian/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
