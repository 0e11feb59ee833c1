# The library: one object, and from it lib<name>.so and lib<name>.a.
#
# hakmem          the shared library (file libhakmem.so, or libhakmem-<variant>.so)
# hakmem_static   the archive; its only member is the object with every hidden name made local, so that a room's
#                 function can never collide with a function of the program
# library         both; not where this is part of another project, which may have a target of that name
#
# Other projects call them as the installed package does: hakmem::hakmem (or hakmem::<variant>) and hakmem::hakmem_static.
#
# src/hakmem.c includes every room; a src/libc*.c or src/cxx*.c that it does not include is an object of its own.
# src/libc_shared.c is in the shared library only.

set(HAKMEM_SOURCES ${PROJECT_SOURCE_DIR}/src/hakmem.c)
file(READ ${PROJECT_SOURCE_DIR}/src/hakmem.c shipped)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/hakmem.c)
file(GLOB surface CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/libc*.c ${PROJECT_SOURCE_DIR}/src/cxx*.c)
set(shared_only ${surface})
list(FILTER shared_only INCLUDE REGEX /libc_shared.c$)
list(FILTER surface EXCLUDE REGEX /libc_shared.c$)
foreach(source IN LISTS surface)
    get_filename_component(name ${source} NAME)
    string(FIND "${shipped}" "#include \"${name}\"" included)
    if(included EQUAL -1)
        list(APPEND HAKMEM_SOURCES ${source})
    endif()
endforeach()

if(HAKMEM_VARIANT STREQUAL "standard" OR HAKMEM_VARIANT STREQUAL "aarch64")
    set(HAKMEM_LIBRARY_NAME hakmem)
else()
    set(HAKMEM_LIBRARY_NAME hakmem-${HAKMEM_VARIANT})
endif()

add_library(hakmem_object OBJECT ${HAKMEM_SOURCES})
hakmem_library_flags(hakmem_object)
target_compile_definitions(hakmem_object PRIVATE
    HAKMEM_VERSION="${PROJECT_VERSION}" HAKMEM_COMMIT="${HAKMEM_COMMIT}")

# Under the address and thread sanitizers malloc is theirs: the library then has its prefixed names only.
if(HAKMEM_SANITIZE MATCHES "address|thread")
    target_compile_definitions(hakmem_object PRIVATE HAKMEM_PREFIX_ONLY)
endif()
set(member ${CMAKE_CURRENT_BINARY_DIR}/${HAKMEM_LIBRARY_NAME}.o)
add_custom_command(OUTPUT ${member}
    COMMAND ${CMAKE_C_COMPILER} ${HAKMEM_TARGET_FLAGS} -r -nostdlib -o ${member}.merged $<TARGET_OBJECTS:hakmem_object>
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${member}.merged ${member}
    COMMAND ${CMAKE_COMMAND} -E rm ${member}.merged
    DEPENDS hakmem_object $<TARGET_OBJECTS:hakmem_object>
    COMMAND_EXPAND_LISTS VERBATIM COMMENT "Merging the archive's only member")
set_source_files_properties(${member} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)

add_library(hakmem_static STATIC ${member})
add_library(hakmem SHARED $<TARGET_OBJECTS:hakmem_object>)
if(shared_only AND NOT HAKMEM_SANITIZE MATCHES "address|thread") # whose dlopen is theirs, too
    target_sources(hakmem PRIVATE ${shared_only})
    hakmem_library_flags(hakmem)
endif()
# For musl it names no libc that it needs: a program that is linked with glibc and inherits LD_PRELOAD could not start for want of musl's.
if(HAKMEM_VARIANT STREQUAL "musl")
    target_link_options(hakmem PRIVATE -nostdlib)
elseif(NOT HAKMEM_SANITIZE)
    target_link_options(hakmem PRIVATE -Wl,-z,defs)
endif()
set(flags -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,--as-needed -Wl,--hash-style=gnu)
target_link_options(hakmem PRIVATE ${HAKMEM_SANITIZE_FLAGS} ${flags})
if(NOT HAKMEM_SANITIZE)
    hakmem_first_pages(hakmem ${flags})
endif()
target_link_libraries(hakmem PRIVATE ${CMAKE_DL_LIBS})
target_link_libraries(hakmem_static INTERFACE ${CMAKE_DL_LIBS})
# A plugin that the archive is part of must stay, too, when it is closed: our thread runs its code.
target_link_options(hakmem_static INTERFACE -Wl,-z,nodelete)
set_target_properties(hakmem PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
foreach(target hakmem hakmem_static)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${HAKMEM_LIBRARY_NAME} LINKER_LANGUAGE C)
    target_include_directories(${target} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()

string(REPLACE "hakmem-" "" HAKMEM_EXPORT_NAME ${HAKMEM_LIBRARY_NAME})
set_target_properties(hakmem PROPERTIES EXPORT_NAME ${HAKMEM_EXPORT_NAME})
set_target_properties(hakmem_static PROPERTIES EXPORT_NAME ${HAKMEM_EXPORT_NAME}_static)
add_library(hakmem::${HAKMEM_EXPORT_NAME} ALIAS hakmem)
add_library(hakmem::${HAKMEM_EXPORT_NAME}_static ALIAS hakmem_static)

if(PROJECT_IS_TOP_LEVEL)
    add_custom_target(library DEPENDS hakmem hakmem_static)
endif()
