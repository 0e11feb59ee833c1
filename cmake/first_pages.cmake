# What every small program runs lies together, at the front of the library's file.
#
# Of a file that is mapped the kernel maps 16 pages at a touch (64 KiB; "fault-around", filemap_map_pages), so of a library whose parts
# lie as they come nearly all is resident in each process. Here the linker's own script is changed in three places: the functions
# of first_functions.txt come before all others, .fini before them, and .rodata joins the headers, which the dynamic linker
# reads anyway; what is rare, and the tables for unwinding, are then never touched. tests/golden/first_pages.py holds it;
# docs/experiments/first-pages.md has what it is worth.
#
# hakmem_first_pages(target FLAGS...)   FLAGS: what else the target is linked with, on which the script depends.
# With a linker whose script is another the target is linked as it comes.
# The hottest functions come first of all: their addresses stay when other functions change. Where malloc lies, in steps of 64 bytes, was
# worth up to 28 % of a program that has branches of its own at like addresses (docs/experiments/marks.md).

function(hakmem_first_pages target)
    set(probe ${CMAKE_CURRENT_BINARY_DIR}/first_pages.probe)
    separate_arguments(users NATIVE_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_SHARED_LINKER_FLAGS}") # which may name another linker
    execute_process(COMMAND ${CMAKE_C_COMPILER} -shared ${users} ${ARGN} -Wl,--verbose -o ${probe}
        OUTPUT_VARIABLE told ERROR_QUIET RESULT_VARIABLE ignored)
    file(REMOVE ${probe})
    string(REGEX REPLACE ".*\n=====+\n(.*)\n=====+\n.*" "\\1" script "${told}")
    set(rodata "  .rodata         : { *(.rodata .rodata.* .gnu.linkonce.r.*) }\n")
    set(init "  . = ALIGN(CONSTANT (MAXPAGESIZE));\n  .init  ")
    set(fini "  .fini           :\n  {\n    KEEP (*(SORT_NONE(.fini)))\n  }\n")
    set(text "  .text           :\n  {\n")
    set(bss "   *(.bss .bss.* .gnu.linkonce.b.*)\n")
    foreach(part IN ITEMS rodata init fini text bss)
        string(FIND "${script}" "${${part}}" at)
        if(at EQUAL -1)
            message(STATUS "The linker's script is another than GNU ld's: functions lie as they come")
            return()
        endif()
    endforeach()

    set(list ${PROJECT_SOURCE_DIR}/cmake/first_functions.txt)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
    file(STRINGS ${list} names REGEX "^[a-z_]")
    list(PREPEND names malloc free alloc_free_full)
    list(TRANSFORM names REPLACE "(.+)"
        "    *(.text.\\1 .text.\\1.* .text.unlikely.\\1 .text.unlikely.\\1.*)\n" OUTPUT_VARIABLE first)
    list(JOIN first "" first)
    set(others "    *crt*.o(.text .text.*)\n    *libc_nonshared.a:*(.text .text.*)\n")
    string(REPLACE "${rodata}" "" script "${script}")
    string(REPLACE "${fini}" "" script "${script}")
    string(REPLACE "${init}" "${rodata}${init}" script "${script}")
    string(REPLACE "${text}" "${fini}${text}${others}${first}" script "${script}")
    string(REPLACE "${bss}" "   *(.bss)\n   *(.bss.records)\n${bss}" script "${script}")
    set(file ${CMAKE_CURRENT_BINARY_DIR}/first_pages.ld)
    file(WRITE ${file} "${script}")
    target_link_options(${target} PRIVATE -Wl,-T,${file})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${file})
endfunction()
