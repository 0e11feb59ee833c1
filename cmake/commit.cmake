# HAKMEM_COMMIT: the short id of the commit that is built, "unknown" outside a repository.
# A new commit makes the build configure itself again, so that the id printed is never an older one.

set(HAKMEM_COMMIT unknown)
find_program(HAKMEM_GIT git)
mark_as_advanced(HAKMEM_GIT)
if(HAKMEM_GIT)
    execute_process(COMMAND ${HAKMEM_GIT} rev-parse --short=12 HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed)
        set(HAKMEM_COMMIT ${head})
    endif()
    execute_process(COMMAND ${HAKMEM_GIT} rev-parse --git-path logs/HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        OUTPUT_VARIABLE log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed)
        get_filename_component(log ${log} ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
        if(EXISTS ${log})
            set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${log})
        endif()
    endif()
endif()
