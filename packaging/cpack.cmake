# `cpack --config build/<variant>/CPackConfig.cmake` makes a .tar.gz and, where dpkg is found, a .deb. A .tar.gz is
# whole; of the Debian packages only that of the standard variant has the headers and the package configuration, so that
# all of them can be installed at the same time: the others depend on it.

set(CPACK_PACKAGE_NAME ${HAKMEM_LIBRARY_NAME})
set(CPACK_PACKAGE_VENDOR hakmem)
set(CPACK_PACKAGE_CONTACT "hakmem maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_DESCRIPTION "A drop-in malloc for programs, linked or preloaded:
LD_PRELOAD=lib${HAKMEM_LIBRARY_NAME}.so.0 COMMAND
This is the library of the variant ${HAKMEM_VARIANT}, shared and as an archive.")
set(CPACK_GENERATOR TGZ)
find_program(HAKMEM_DPKG dpkg)
mark_as_advanced(HAKMEM_DPKG)
if(HAKMEM_DPKG)
    list(APPEND CPACK_GENERATOR DEB)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
    # The one that it was built with: which versions of its symbols the linker has taken depends on that.
    execute_process(COMMAND ${CMAKE_C_COMPILER} ${HAKMEM_TARGET_FLAGS} -E -dM -include features.h -x c /dev/null
        OUTPUT_VARIABLE glibc ERROR_QUIET)
    set(needs)
    if(glibc MATCHES "__GLIBC_MINOR__[ \t]+([0-9]+)") # not so with musl, where it names no libc
        list(APPEND needs "libc6 (>= 2.${CMAKE_MATCH_1})")
    endif()
    set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
    if(HAKMEM_LIBRARY_NAME STREQUAL hakmem)
        set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3 (>= 3.11), python3-venv") # `hakmem explain` and its like
    else()
        list(APPEND needs "hakmem (= ${PROJECT_VERSION})")
        set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/packaging/cpack-variant.cmake)
    endif()
    list(JOIN needs ", " CPACK_DEBIAN_PACKAGE_DEPENDS)
    set(CPACK_DEBIAN_PACKAGE_SECTION libs)
    # Else that of the machine that builds.
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
        set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
    elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
        set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
    endif()
    # The dynamic linker's cache is to know the library, and packages of programs that are linked with it, whose it is.
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/shlibs
        "lib${HAKMEM_LIBRARY_NAME} ${PROJECT_VERSION_MAJOR} ${HAKMEM_LIBRARY_NAME} (>= ${PROJECT_VERSION})\n")
    set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_BINARY_DIR}/triggers ${CMAKE_CURRENT_BINARY_DIR}/shlibs)
    set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/LICENSE)
    set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
endif()
include(CPack)
