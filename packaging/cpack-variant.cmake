# Read by cpack for each kind of package of a variant other than the standard one: what all variants have in common is
# left out of the Debian package. What is set for one kind is still set when the next one is made.

list(REMOVE_AT CPACK_INSTALL_CMAKE_PROJECTS 2)
if(CPACK_GENERATOR STREQUAL DEB)
    list(INSERT CPACK_INSTALL_CMAKE_PROJECTS 2 variant)
else()
    list(INSERT CPACK_INSTALL_CMAKE_PROJECTS 2 ALL)
endif()
