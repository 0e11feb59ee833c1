# The command `hakmem` where it is installed: what of it needs no source, beside a file that says where the libraries lie. It runs, explains and
# profiles programs (launcher/installed.sh). All variants have it in common.

set(command_directory ${CMAKE_INSTALL_DATADIR}/hakmem)
foreach(kind LIB DOC)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}DIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_DATADIR}")
        set(HAKMEM_${kind}DIR ${CMAKE_INSTALL_FULL_${kind}DIR}) # a tree that cannot be moved
    else()
        file(RELATIVE_PATH HAKMEM_${kind}DIR /${command_directory} /${CMAKE_INSTALL_${kind}DIR})
    endif()
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/packaging/installed.in ${CMAKE_CURRENT_BINARY_DIR}/installed @ONLY)

install(PROGRAMS ${PROJECT_SOURCE_DIR}/hakmem DESTINATION ${command_directory} COMPONENT common)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/installed DESTINATION ${command_directory} COMPONENT common)
foreach(part build calls doctor explain heap install installed preload program python run say top version)
    install(FILES ${PROJECT_SOURCE_DIR}/launcher/${part}.sh DESTINATION ${command_directory}/launcher COMPONENT common)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/src/options.def DESTINATION ${command_directory}/src COMPONENT common)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/lab DESTINATION ${command_directory} COMPONENT common OPTIONAL
    PATTERN tests EXCLUDE PATTERN __pycache__ EXCLUDE PATTERN "*.pyc" EXCLUDE PATTERN .pytest_cache EXCLUDE)

# bin/hakmem is a link, from where the command finds the rest.
file(RELATIVE_PATH command ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/hakmem/hakmem)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/link)
file(CREATE_LINK ${command} ${CMAKE_CURRENT_BINARY_DIR}/link/hakmem SYMBOLIC)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/link/hakmem DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT common)
