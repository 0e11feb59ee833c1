# What `make install` and the packages put where: the library with its soname, the archive, the header, the documents that tell of
# options, limits and commands, the pkg-config file and the CMake package config. Every variant installs beside the others; both
# description files find their prefix from where they lie, so that an installed tree may be moved. What is the same in all
# variants is the component `common`, for Debian packages: no two of them may own a file.

include(CMakePackageConfigHelpers)

set(config_directory ${CMAKE_INSTALL_LIBDIR}/cmake/hakmem)
install(TARGETS hakmem hakmem_static EXPORT hakmem-${HAKMEM_EXPORT_NAME}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT variant
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT variant)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT common
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT common OPTIONAL)
foreach(document calls explain heap limits memory-goes-home options) # the command names most of them
    install(FILES ${PROJECT_SOURCE_DIR}/docs/${document}.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT common OPTIONAL)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/docs/experiments/pages-of-64k.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/experiments
    COMPONENT common OPTIONAL)
install(EXPORT hakmem-${HAKMEM_EXPORT_NAME} NAMESPACE hakmem:: DESTINATION ${config_directory}
    FILE hakmem-targets-${HAKMEM_EXPORT_NAME}.cmake COMPONENT variant)
# So the build directory is a package, too: -Dhakmem_DIR=build/standard.
export(EXPORT hakmem-${HAKMEM_EXPORT_NAME} NAMESPACE hakmem::
    FILE ${CMAKE_CURRENT_BINARY_DIR}/hakmem-targets-${HAKMEM_EXPORT_NAME}.cmake)

configure_package_config_file(${PROJECT_SOURCE_DIR}/packaging/hakmem-config.cmake.in
    ${CMAKE_CURRENT_BINARY_DIR}/hakmem-config.cmake INSTALL_DESTINATION ${config_directory})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/hakmem-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hakmem-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/hakmem-config-version.cmake DESTINATION ${config_directory} COMPONENT common)

if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(HAKMEM_PC_PREFIX ${CMAKE_INSTALL_PREFIX}) # a tree that cannot be moved
else()
    file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    string(REGEX REPLACE "/$" "" to_prefix ${to_prefix})
    set(HAKMEM_PC_PREFIX "\${pcfiledir}/${to_prefix}")
endif()
foreach(kind LIBDIR INCLUDEDIR)
    set(HAKMEM_PC_${kind} ${CMAKE_INSTALL_${kind}})
    if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
        string(PREPEND HAKMEM_PC_${kind} "\${prefix}/")
    endif()
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/packaging/hakmem.pc.in
    ${CMAKE_CURRENT_BINARY_DIR}/${HAKMEM_LIBRARY_NAME}.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${HAKMEM_LIBRARY_NAME}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT variant)
