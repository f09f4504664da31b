# Builds for arm64 on another machine, with Debian's cross compiler (g++-aarch64-linux-gnu):
#   cmake --preset release -B build/arm64 --toolchain cmake/arm64.cmake [-D CMAKE_SYSROOT=DIR]
# The libraries come from DIR, a root with their arm64 packages unpacked in it, or from this machine when they are
# installed side by side (libpng-dev:arm64 and so on). With qemu-user the test programs run too.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
find_program(CMAKE_CXX_COMPILER NAMES aarch64-linux-gnu-g++ aarch64-linux-gnu-g++-12 REQUIRED)

# Programs are this machine's; a given root holds everything else.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind IN ITEMS LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")

find_program(MUSTER_EMULATOR NAMES qemu-aarch64 qemu-aarch64-static)
if(MUSTER_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${MUSTER_EMULATOR} -L "${CMAKE_SYSROOT}/")
endif()
