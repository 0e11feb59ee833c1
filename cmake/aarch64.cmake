# Toolchain: cross-compile for aarch64 with Debian's gcc-aarch64-linux-gnu, run the tests under qemu-user.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
find_program(HAKMEM_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
if(HAKMEM_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${HAKMEM_QEMU} -L /usr/aarch64-linux-gnu)
endif()
