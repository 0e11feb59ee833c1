# What every small program runs lies together, at the front of the library's file, in a segment of its own.
#
# Of a file that is mapped the kernel maps 16 pages at a touch (64 KiB; "fault-around", filemap_map_pages), since Linux 6.18 all of a
# large folio of the page cache, but never more than the segment. So of a library whose parts lie as they come nearly all is
# resident in each process. Here the linker's own script is changed: .text is the functions of first_functions.txt, all others are
# .text_rare, behind the tables for unwinding; .fini comes before .text, and .rodata joins the headers, which the dynamic linker
# reads anyway. Counted by tests/bars/small_process.c; docs/experiments/first-pages.md has what it is worth.
#
# hakmem_first_pages(target FLAGS...)   FLAGS: what else the target is linked with, on which the script depends.
# With a linker whose script is another the target is linked as it comes, and with -DHAKMEM_FIRST_PAGES=OFF: valgrind
# (3.19) names the functions of .text only.

option(HAKMEM_FIRST_PAGES "put what every small program runs first in the library's file" ON)

function(hakmem_first_pages target)
    set(probe ${CMAKE_CURRENT_BINARY_DIR}/first_pages.probe)
    separate_arguments(users NATIVE_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_SHARED_LINKER_FLAGS}") # which may name another linker
    execute_process(COMMAND ${CMAKE_C_COMPILER} -shared ${users} ${ARGN} -Wl,--verbose -o ${probe}
        OUTPUT_VARIABLE told ERROR_QUIET RESULT_VARIABLE ignored)
    file(REMOVE ${probe})
    string(REGEX REPLACE ".*\n=====+\n(.*)\n=====+\n.*" "\\1" script "${told}")
    set(rodata "  .rodata         : { *(.rodata .rodata.* .gnu.linkonce.r.*) }\n")
    set(page "  . = ALIGN(CONSTANT (MAXPAGESIZE));\n")
    set(init "${page}  .init  ")
    set(fini "  .fini           :\n  {\n    KEEP (*(SORT_NONE(.fini)))\n  }\n")
    set(data "  /* Adjust the address for the data segment.")
    string(REGEX MATCH "  \\.text           :\n  {\n[^}]*}\n" text "${script}")
    foreach(part IN ITEMS rodata init fini data text)
        string(FIND "${script}" "${${part}}" at)
        if(at EQUAL -1 OR NOT ${part})
            message(STATUS "The linker's script is another than GNU ld's: functions lie as they come")
            return()
        endif()
    endforeach()

    set(list ${PROJECT_SOURCE_DIR}/cmake/first_functions.txt)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
    file(STRINGS ${list} names REGEX "^[a-z_]")
    list(TRANSFORM names REPLACE "(.+)"
        "    *(.text.\\1 .text.\\1.* .text.unlikely.\\1 .text.unlikely.\\1.*)\n" OUTPUT_VARIABLE first)
    list(JOIN first "" first)
    set(others "    *crt*.o(.text .text.*)\n    *libc_nonshared.a:*(.text .text.*)\n")
    string(REPLACE ".text           :" ".text_rare      :" rare "${text}")
    string(REPLACE "${rodata}" "" script "${script}")
    string(REPLACE "${fini}" "" script "${script}")
    string(REPLACE "${init}" "${rodata}${init}" script "${script}")
    string(REPLACE "${text}" "${fini}  .text           :\n  {\n${others}${first}  }\n" script "${script}")
    string(REPLACE "${data}" "${page}${rare}${data}" script "${script}")
    set(file ${CMAKE_CURRENT_BINARY_DIR}/first_pages.ld)
    file(WRITE ${file} "${script}")
    target_link_options(${target} PRIVATE -Wl,-T,${file})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${file})
endfunction()
