# What every small program runs lies together, at the end of the library's code.
#
# Of a file that is mapped the kernel maps 16 pages at a touch (64 KiB; "fault-around", filemap_map_pages): those of the aligned window
# around it, as far as the mapping goes. So of a library whose parts lie as they come nearly all is resident in each process. Here the
# linker's own script is changed: the functions of first_functions.txt come behind all others, at a multiple of 64 KiB, with .init and
# its like, and the mapping ends there, so that the window is as short as they are; .rodata joins the headers, which the dynamic linker
# reads anyway; what is rare, and the tables for unwinding, are then never touched. Linux (5.18 and later, for most file systems) maps a
# file as long as this one, with its 13 MB of zeros, at a multiple of 2 MiB; where it does not, the window begins anywhere, and nothing
# is lost against code in any other order. tests/golden/first_pages.py holds it; docs/experiments/first-pages.md has what it is worth.
#
# hakmem_first_pages(target FLAGS...)   FLAGS: what else the target is linked with, on which the script depends.
# With a linker whose script is another the target is linked as it comes.
# The hottest functions come first of them: their addresses stay when other functions change. Where malloc lies, in steps of 64 bytes, was
# worth up to 28 % of a program that has branches of its own at like addresses (docs/experiments/marks.md).
#
# .got begins what the dynamic linker writes, instead of ending it: malloc and free load from it where the thread's own words are, and
# at the end of a page that word lay as deep in it as the upmost frames of every thread's stack. A load whose address ends like that of
# a store just before it may have to wait for it (docs/experiments/stack-and-got.md).

# Of the others those come first that are for what is asked for by options or by name, and os_getenv, which only they call: a process that is
# given an option reads that window. The table of options begins another one, behind the tables for unwinding; the gap before it is inside its
# section, as the linker would make two segments of it, and the second one would cost a system call more at each start.
set(HAKMEM_COLDEST_ROOMS hakmem|limit|log|mallinfo|misuse|next|options|poisson|sample|stats)

# hakmem_input_sections(RESULT NAME...)   where the compiler puts functions of these names
function(hakmem_input_sections result)
    list(TRANSFORM ARGN REPLACE "(.+)"
        "    *(.text.\\1 .text.\\1.* .text.unlikely.\\1 .text.unlikely.\\1.*)\n" OUTPUT_VARIABLE sections)
    list(JOIN sections "" sections)
    set(${result} ${sections} PARENT_SCOPE)
endfunction()

# hakmem_rare_functions(RESULT NAME...)   what the sources define but for these: each word before a parenthesis on a line that begins in
# column 1. A word too many names no section; a function that is missed lies behind the first ones.
function(hakmem_rare_functions result)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.[ch])
    set(rare "")
    foreach(source IN LISTS sources)
        file(STRINGS ${source} lines REGEX "^[a-z_A-Z].*[a-z0-9_]\\(")
        string(REGEX MATCHALL "[a-z_][a-z0-9_]*\\(" words "${lines}")
        list(APPEND rare ${words})
    endforeach()
    list(TRANSFORM rare REPLACE "\\($" "")
    list(REMOVE_DUPLICATES rare)
    list(REMOVE_ITEM rare ${ARGN})
    set(${result} ${rare} PARENT_SCOPE)
endfunction()

function(hakmem_first_pages target)
    set(probe ${CMAKE_CURRENT_BINARY_DIR}/first_pages.probe)
    separate_arguments(users NATIVE_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_SHARED_LINKER_FLAGS}") # which may name another linker
    execute_process(COMMAND ${CMAKE_C_COMPILER} ${HAKMEM_TARGET_FLAGS} -shared ${users} ${ARGN} -Wl,--verbose -o ${probe}
        OUTPUT_VARIABLE told ERROR_QUIET RESULT_VARIABLE ignored)
    file(REMOVE ${probe})
    string(REGEX REPLACE ".*\n=====+\n(.*)\n=====+\n.*" "\\1" script "${told}")
    set(rodata "  .rodata         : { *(.rodata .rodata.* .gnu.linkonce.r.*) }\n")
    set(align "  . = ALIGN(CONSTANT (MAXPAGESIZE));\n")
    set(init "${align}  .init  ")
    set(fini "  .fini           :\n  {\n    KEEP (*(SORT_NONE(.fini)))\n  }\n")
    set(text "  .text           :\n  {\n")
    set(bss "   *(.bss .bss.* .gnu.linkonce.b.*)\n")
    set(data "  /* Adjust the address for the data segment.")
    set(tables "  .rodata_rare    : { . = ALIGN(0x10000); *(.rodata_rare) }\n")
    foreach(part IN ITEMS rodata init fini text bss data)
        string(FIND "${script}" "${${part}}" at)
        if(at EQUAL -1)
            message(STATUS "The linker's script is another than GNU ld's: functions lie as they come")
            return()
        endif()
    endforeach()

    set(list ${PROJECT_SOURCE_DIR}/cmake/first_functions.txt)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
    file(STRINGS ${list} names REGEX "^[a-z_]")
    hakmem_rare_functions(rare ${names})
    list(PREPEND names malloc free alloc_free_full)
    hakmem_input_sections(first ${names})
    set(coldest ${rare})
    list(FILTER coldest INCLUDE REGEX "^((${HAKMEM_COLDEST_ROOMS})_|os_getenv$)")
    list(REMOVE_ITEM rare ${coldest})
    hakmem_input_sections(coldest ${coldest})
    hakmem_input_sections(rare ${rare})
    set(others "    *crt*.o(.text .text.*)\n    *libc_nonshared.a:*(.text .text.*)\n")
    set(begin_code "  HIDDEN(first_pages_code = .);\n")
    set(window "    . = . + ((0x20000 - (first_pages_code & 0xffff) - (. & 0xffff)) & 0xffff);\n")
    string(REGEX MATCH "\n  \\.init  .*\n  \\.text  " begin "${script}") # .init, .plt and their like
    string(REGEX REPLACE "^\n(.*)  \\.text  $" "\\1" begin "${begin}")
    string(FIND "${script}" "  PROVIDE (__etext = .);\n" at)
    if(begin STREQUAL "" OR at EQUAL -1)
        message(STATUS "The linker's script is another than GNU ld's: functions lie as they come")
        return()
    endif()
    string(REPLACE "${rodata}" "" script "${script}")
    string(REPLACE "${data}" "${tables}${data}" script "${script}")
    string(REPLACE "${fini}" "" script "${script}")
    string(REPLACE "${begin}" "" script "${script}")
    string(REPLACE "  PROVIDE (__etext = .);\n" "${begin}${fini}  PROVIDE (__etext = .);\n" script "${script}")
    string(REPLACE "${align}${text}" "${rodata}${align}${begin_code}${text}${coldest}${window}${rare}${window}${others}${first}" script "${script}")
    string(REPLACE "${bss}" "   *(.bss)\n   *(.bss.records)\n${bss}" script "${script}")
    string(REGEX MATCH "  \\.got  [^\n]*\n" got "${script}")
    if(got)
        string(REPLACE "${got}" "" script "${script}")
        string(REGEX REPLACE "\n(  \\.tdata)" "\n${got}\\1" script "${script}")
    endif()
    set(file ${CMAKE_CURRENT_BINARY_DIR}/first_pages.ld)
    file(WRITE ${file} "${script}")
    target_link_options(${target} PRIVATE -Wl,-T,${file})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${file})
endfunction()
