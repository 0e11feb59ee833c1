# How a test is declared. A tests/<room>/CMakeLists.txt says, for example:
#
#   hakmem_test(NAME sizeclass_geometry SOURCES geometry.c ROOM sizeclass LABELS unit)
#   hakmem_test(NAME model_random SOURCES model.c LINK_ARCHIVE LABELS model ARGS --seed 1 TIMEOUT 120)
#   hakmem_test(NAME api_tables SOURCES tables.c PRELOAD LABELS api)
#   hakmem_program(NAME double_free SOURCES double_free.c)
#   hakmem_script_test(NAME misuse_words COMMAND python3 words.py LABELS misuse NEEDS double_free)
#
# hakmem_test          builds a program and runs it. ROOM r adds src/r.c and src/r_*.c (rooms below: the test's fakes);
#                      LINK_ARCHIVE links the whole archive; PRELOAD runs it with LD_PRELOAD=<library>.
# hakmem_script_test   runs a command; an argument that is a file beside the CMakeLists.txt may be named relatively.
# hakmem_program       builds a program that tests run; it lies in $TESTED_PROGRAMS.
#
# Common words: LABELS; VARIANTS (which variants run it; without it the labels decide, see below; "all" is allowed);
# TIMEOUT seconds (300); ARGS; ENVIRONMENT name=value...; LIBRARIES; DEFINITIONS; OPTIONS (compiler);
# NEEDS (programs or targets to build first); SERIAL (nothing beside it); SAMPLED (hakmem_test only: check, hardened, asan and tsan
# run it a second time with its threads watched, see heap_watch).
#
# A test gets TESTED_LIB, TESTED_ARCHIVE, TESTED_BUILD_DIR, TESTED_SOURCE_DIR, TESTED_VARIANT, TESTED_PROGRAMS,
# TESTED_CC, TESTED_CXX. Exit status 77 means skipped, with the reason as the last line of output.

include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_library(HAKMEM_CMOCKA cmocka)
find_path(HAKMEM_CMOCKA_INCLUDE cmocka.h)
mark_as_advanced(HAKMEM_CMOCKA HAKMEM_CMOCKA_INCLUDE)
set(HAKMEM_PROGRAMS ${PROJECT_BINARY_DIR}/programs)

# Where a label runs when the test names no VARIANTS. Whatever its label, a test runs in standard.
set(HAKMEM_LABEL_unit check asan ubsan)
set(HAKMEM_LABEL_threads tsan)
set(HAKMEM_LABEL_model check asan ubsan)
set(HAKMEM_LABEL_stress check tsan)
set(HAKMEM_LABEL_lifecycle check)
set(HAKMEM_LABEL_api fast observe hardened)
set(HAKMEM_LABEL_misuse fast observe hardened)
set(HAKMEM_LABEL_golden fast observe hardened)
set(HAKMEM_LABEL_real fast observe hardened)

# The thread sanitizer of some compilers fails on some kernels' address layout: a run without randomisation works
# wherever the personality may be changed. Found out once, by running a program.
set(HAKMEM_RUNNER)
set(HAKMEM_SANITIZER_WORKS TRUE)
if(HAKMEM_SANITIZE)
    set(probe ${PROJECT_BINARY_DIR}/sanitizer-probe)
    file(WRITE ${probe}.c "#include <pthread.h>\nstatic void *f(void *p) { return p; }\n"
        "int main(void) { pthread_t t; return pthread_create(&t, 0, f, 0) || pthread_join(t, 0); }\n")
    execute_process(RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET
        COMMAND ${CMAKE_C_COMPILER} -fsanitize=${HAKMEM_SANITIZE} -pthread -o ${probe} ${probe}.c)
    execute_process(COMMAND setarch -R true RESULT_VARIABLE fixed OUTPUT_QUIET ERROR_QUIET)
    if(HAKMEM_SANITIZE STREQUAL "thread" AND fixed STREQUAL "0")
        set(HAKMEM_RUNNER setarch -R)
    endif()
    foreach(run RANGE 4)
        if(failed STREQUAL "0")
            execute_process(COMMAND ${HAKMEM_RUNNER} ${probe} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
        endif()
    endforeach()
    if(NOT failed STREQUAL "0")
        set(HAKMEM_SANITIZER_WORKS FALSE)
    endif()
endif()

function(hakmem_runs_here result labels variants)
    if(NOT variants)
        set(variants standard)
        foreach(label IN LISTS labels)
            list(APPEND variants ${HAKMEM_LABEL_${label}})
        endforeach()
    endif()
    if(HAKMEM_VARIANT IN_LIST variants OR "all" IN_LIST variants)
        set(${result} TRUE PARENT_SCOPE)
    else()
        set(${result} FALSE PARENT_SCOPE)
    endif()
endfunction()

# With musl, whole programs in C of these rooms run as in standard, but for what musl itself does otherwise.
set(HAKMEM_ROOMS_WITH_MUSL bars fault home lifecycle limits model stress)
set(HAKMEM_NOT_WITH_MUSL
    home_from_libc_calloc home_from_libc_realloc home_from_libc_samples # they are about glibc's argz
    home_filter_allowed # its filter is for the calls that glibc's streams make
    lifecycle_cancellation # asynchronous: handlers begin with a stack that is not aligned
    lifecycle_contexts # there is no makecontext
    lifecycle_dlopen_late # nothing is opened that has thread-local storage as ours
    lifecycle_exit_while_allocating lifecycle_last_thread # a child whose first thread ends by pthread_exit hangs, with musl's malloc, too
    lifecycle_fork_in_fork lifecycle_fork_streams) # docs/musl.md, What is different

# Debian's musl brings no headers of the kernel: those of linux-libc-dev are taken without glibc's, beside which they lie.
if(HAKMEM_VARIANT STREQUAL "musl")
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/kernel-headers)
    foreach(headers linux asm-generic ${HAKMEM_MULTIARCH}/asm)
        get_filename_component(name ${headers} NAME)
        file(CREATE_LINK /usr/include/${headers} ${PROJECT_BINARY_DIR}/kernel-headers/${name} SYMBOLIC)
    endforeach()
    set(HAKMEM_KERNEL_HEADERS -idirafter${PROJECT_BINARY_DIR}/kernel-headers)
endif()

function(hakmem_runs_with_musl result name)
    string(REGEX REPLACE "_.*" "" room ${name})
    if(HAKMEM_VARIANT STREQUAL "musl" AND "standard" IN_LIST ARGN AND room IN_LIST HAKMEM_ROOMS_WITH_MUSL AND
       NOT name IN_LIST HAKMEM_NOT_WITH_MUSL)
        set(${result} TRUE PARENT_SCOPE)
    endif()
endfunction()

function(hakmem_add_skipped name reason labels)
    add_test(NAME ${name} COMMAND sh -c "echo 'SKIP: ${reason}'; exit 77")
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS "${labels}")
endfunction()

# Says in `result` why the sources cannot be built or run here, or nothing.
function(hakmem_lacks result)
    set(reason)
    foreach(source IN LISTS ARGN)
        get_filename_component(path ${source} ABSOLUTE)
        if(source MATCHES "\\.(cc|cpp|cxx)$" AND NOT CMAKE_CXX_COMPILER)
            set(reason "no C++ compiler")
        elseif(EXISTS ${path})
            file(STRINGS ${path} uses REGEX "include [<\"]cmocka.h" LIMIT_COUNT 1)
            if(uses AND NOT (HAKMEM_CMOCKA AND HAKMEM_CMOCKA_INCLUDE))
                set(reason "no cmocka for this target (Debian: libcmocka-dev)")
            endif()
        endif()
    endforeach()
    if(HAKMEM_VARIANT STREQUAL "aarch64" AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
        set(reason "no qemu-aarch64 (Debian: qemu-user)")
    elseif(NOT HAKMEM_SANITIZER_WORKS)
        set(reason "a program built with -fsanitize=${HAKMEM_SANITIZE} does not run here")
    endif()
    set(${result} "${reason}" PARENT_SCOPE)
endfunction()

# qemu's user mode does not know all that mremap can do: see the source.
if(HAKMEM_VARIANT STREQUAL "aarch64")
    add_library(no_page_moves SHARED ${PROJECT_SOURCE_DIR}/tests/emulated/no_page_moves.c)
endif()

function(hakmem_test_properties name)
    cmake_parse_arguments(T "SERIAL;PRELOAD" "TIMEOUT" "LABELS;ENVIRONMENT" ${ARGN})
    if(NOT T_TIMEOUT)
        set(T_TIMEOUT 300)
    endif()
    set(environment
        TESTED_LIB=$<TARGET_LINKER_FILE:hakmem> TESTED_ARCHIVE=$<TARGET_FILE:hakmem_static>
        TESTED_BUILD_DIR=${PROJECT_BINARY_DIR} TESTED_SOURCE_DIR=${PROJECT_SOURCE_DIR}
        TESTED_VARIANT=${HAKMEM_VARIANT} TESTED_PROGRAMS=${HAKMEM_PROGRAMS}
        TESTED_CC=${CMAKE_C_COMPILER} TESTED_CXX=${CMAKE_CXX_COMPILER})
    if(HAKMEM_SANITIZE)
        list(APPEND environment ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1
            UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1:allocator_may_return_null=1)
    endif()
    if(HAKMEM_VARIANT STREQUAL "aarch64")
        set(preloads $<TARGET_LINKER_FILE:no_page_moves>)
        if(T_PRELOAD)
            string(APPEND preloads " $<TARGET_LINKER_FILE:hakmem>")
        endif()
        list(APPEND environment "QEMU_SET_ENV=LD_PRELOAD=${preloads}")
    elseif(T_PRELOAD)
        list(APPEND environment LD_PRELOAD=$<TARGET_LINKER_FILE:hakmem>)
    endif()
    set_tests_properties(${name} PROPERTIES
        LABELS "${T_LABELS}" TIMEOUT ${T_TIMEOUT} SKIP_RETURN_CODE 77
        ENVIRONMENT "${environment};${T_ENVIRONMENT}"
        ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${PROJECT_SOURCE_DIR}/build/venv/bin")
    if(T_SERIAL)
        set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
    endif()
endfunction()

function(hakmem_link_test target)
    cmake_parse_arguments(T "LINK_ARCHIVE" "" "SOURCES;ROOM;LIBRARIES;DEFINITIONS;OPTIONS" ${ARGN})
    foreach(room IN LISTS T_ROOM)
        # A room is one file or one for each of its parts.
        file(GLOB parts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}.c ${PROJECT_SOURCE_DIR}/src/${room}_*.c)
        list(APPEND T_SOURCES ${parts})
    endforeach()
    add_executable(${target} ${T_SOURCES})
    hakmem_test_flags(${target})
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(${target} PRIVATE ${T_DEFINITIONS})
    target_compile_options(${target} PRIVATE ${T_OPTIONS})
    if(T_LINK_ARCHIVE)
        add_dependencies(${target} hakmem_static)
        set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS $<TARGET_FILE:hakmem_static>)
        target_link_libraries(${target} PRIVATE
            -Wl,--whole-archive $<TARGET_FILE:hakmem_static> -Wl,--no-whole-archive)
    endif()
    target_link_libraries(${target} PRIVATE ${T_LIBRARIES} Threads::Threads ${CMAKE_DL_LIBS})
    if(HAKMEM_CMOCKA AND HAKMEM_CMOCKA_INCLUDE)
        target_link_libraries(${target} PRIVATE -Wl,--as-needed ${HAKMEM_CMOCKA})
    endif()
    add_dependencies(${target} hakmem)
endfunction()

function(hakmem_test)
    cmake_parse_arguments(T "PRELOAD;LINK_ARCHIVE;SERIAL;SAMPLED" "NAME;TIMEOUT"
        "SOURCES;ROOM;LABELS;VARIANTS;ARGS;ENVIRONMENT;LIBRARIES;DEFINITIONS;OPTIONS;NEEDS" ${ARGN})
    if(T_UNPARSED_ARGUMENTS OR NOT T_NAME OR NOT T_SOURCES)
        message(FATAL_ERROR "hakmem_test(NAME n SOURCES ...): cannot use '${T_UNPARSED_ARGUMENTS}' in: ${ARGN}")
    endif()
    hakmem_runs_here(here "${T_LABELS}" "${T_VARIANTS}")
    if(NOT T_VARIANTS)
        set(T_VARIANTS standard)
    endif()
    hakmem_runs_with_musl(here ${T_NAME} ${T_VARIANTS})
    # A preloaded library and these two sanitizers both want to be malloc.
    if(NOT here OR (T_PRELOAD AND HAKMEM_SANITIZE MATCHES "address|thread"))
        return()
    endif()
    hakmem_lacks(reason ${T_SOURCES})
    if(reason)
        hakmem_add_skipped(${T_NAME} "${reason}" "${T_LABELS}")
        return()
    endif()
    set(link SOURCES ${T_SOURCES} ROOM ${T_ROOM} LIBRARIES ${T_LIBRARIES} DEFINITIONS ${T_DEFINITIONS}
        OPTIONS ${T_OPTIONS})
    if(T_LINK_ARCHIVE)
        list(APPEND link LINK_ARCHIVE)
    endif()
    hakmem_link_test(test_${T_NAME} ${link})
    if(HAKMEM_VARIANT STREQUAL "musl" AND T_PRELOAD)
        target_link_libraries(test_${T_NAME} PRIVATE hakmem) # which has malloc_trim; musl has none
    endif()
    if(T_NEEDS)
        add_dependencies(test_${T_NAME} ${T_NEEDS})
    endif()
    # Named as a target, not as a file, when there is no runner: then an emulator is put before it.
    if(HAKMEM_RUNNER)
        add_test(NAME ${T_NAME} COMMAND ${HAKMEM_RUNNER} $<TARGET_FILE:test_${T_NAME}> ${T_ARGS})
    else()
        add_test(NAME ${T_NAME} COMMAND test_${T_NAME} ${T_ARGS})
    endif()
    set(properties LABELS ${T_LABELS} TIMEOUT ${T_TIMEOUT})
    foreach(word SERIAL PRELOAD)
        if(T_${word})
            list(APPEND properties ${word})
        endif()
    endforeach()
    hakmem_test_properties(${T_NAME} ${properties} ENVIRONMENT ${T_ENVIRONMENT})
    if(T_SAMPLED AND HAKMEM_VARIANT MATCHES "^(check|hardened|asan|tsan)$")
        add_test(NAME ${T_NAME}_sampled COMMAND test_${T_NAME} ${T_ARGS})
        hakmem_test_properties(${T_NAME}_sampled ${properties} ENVIRONMENT ${T_ENVIRONMENT} HAKMEM_HEAP_SAMPLE=3000)
    endif()
endfunction()

function(hakmem_program)
    cmake_parse_arguments(T "LINK_ARCHIVE" "NAME"
        "SOURCES;ROOM;LIBRARIES;DEFINITIONS;OPTIONS;VARIANTS" ${ARGN})
    if(T_UNPARSED_ARGUMENTS OR NOT T_NAME OR NOT T_SOURCES)
        message(FATAL_ERROR "hakmem_program(NAME n SOURCES ...): cannot use '${T_UNPARSED_ARGUMENTS}' in: ${ARGN}")
    endif()
    if(T_VARIANTS AND NOT HAKMEM_VARIANT IN_LIST T_VARIANTS)
        return()
    endif()
    hakmem_lacks(reason ${T_SOURCES})
    if(reason)
        add_custom_target(${T_NAME})
        return()
    endif()
    set(link SOURCES ${T_SOURCES} ROOM ${T_ROOM} LIBRARIES ${T_LIBRARIES} DEFINITIONS ${T_DEFINITIONS}
        OPTIONS ${T_OPTIONS})
    if(T_LINK_ARCHIVE)
        list(APPEND link LINK_ARCHIVE)
    endif()
    hakmem_link_test(${T_NAME} ${link})
    set_target_properties(${T_NAME} PROPERTIES EXCLUDE_FROM_ALL TRUE RUNTIME_OUTPUT_DIRECTORY ${HAKMEM_PROGRAMS})
endfunction()

function(hakmem_script_test)
    cmake_parse_arguments(T "SERIAL" "NAME;TIMEOUT" "COMMAND;ARGS;LABELS;VARIANTS;ENVIRONMENT;NEEDS" ${ARGN})
    if(T_UNPARSED_ARGUMENTS OR NOT T_NAME OR NOT T_COMMAND)
        message(FATAL_ERROR
            "hakmem_script_test(NAME n COMMAND ...): cannot use '${T_UNPARSED_ARGUMENTS}' in: ${ARGN}")
    endif()
    hakmem_runs_here(here "${T_LABELS}" "${T_VARIANTS}")
    if(NOT here)
        return()
    endif()
    set(command)
    foreach(word IN LISTS T_COMMAND T_ARGS)
        if(NOT IS_ABSOLUTE "${word}" AND NOT word STREQUAL "" AND EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${word}"
           AND NOT IS_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/${word}")
            set(word ${CMAKE_CURRENT_SOURCE_DIR}/${word})
        endif()
        if(NOT command AND word MATCHES "\\.py$")
            list(APPEND command env python3)
        elseif(NOT command AND word MATCHES "\\.sh$")
            list(APPEND command sh)
        elseif(NOT command AND NOT IS_ABSOLUTE "${word}")
            # Found through PATH when it runs, so that the test environment's Python is the one.
            list(APPEND command env)
        endif()
        list(APPEND command "${word}")
    endforeach()
    add_test(NAME ${T_NAME} COMMAND ${command})
    set(properties LABELS ${T_LABELS} ENVIRONMENT ${T_ENVIRONMENT} TIMEOUT ${T_TIMEOUT})
    if(T_SERIAL)
        list(APPEND properties SERIAL)
    endif()
    hakmem_test_properties(${T_NAME} ${properties})
    if(T_NEEDS)
        add_custom_target(needs_${T_NAME} ALL DEPENDS ${T_NEEDS})
        add_dependencies(needs_${T_NAME} ${T_NEEDS})
    endif()
endfunction()
