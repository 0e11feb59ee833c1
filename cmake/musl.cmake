# Toolchain: compile for programs that are linked with musl, with Debian's musl-gcc (package musl-tools). Where musl is the system's libc, as
# in Alpine, every preset does without this file.

set(CMAKE_C_COMPILER musl-gcc)
if(CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL "aarch64") # else gcc calls functions of its libgcc, which is made for glibc and asks that for __getauxval
    set(CMAKE_C_FLAGS_INIT -mno-outline-atomics)
endif()
set(CMAKE_CXX_COMPILER CMAKE_CXX_COMPILER-NOTFOUND) # there is none
execute_process(COMMAND musl-gcc -print-multiarch OUTPUT_VARIABLE HAKMEM_MULTIARCH OUTPUT_STRIP_TRAILING_WHITESPACE)
set(CMAKE_FIND_ROOT_PATH /usr/lib/musl)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
