# How the compiler is driven: one place for the flags of the library, of its variants and of the tests.
#
# hakmem_library_flags(target)   what every object of the library is compiled with
# hakmem_test_flags(target)      what test programs are compiled with (same variant, same sanitizer)
# HAKMEM_SANITIZE                the sanitizer of this variant, or empty

set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g")

# asan, ubsan, tsan, aarch64 and musl are other ways to compile a variant, not variants of the source.
set(HAKMEM_SANITIZE_asan address)
set(HAKMEM_SANITIZE_ubsan undefined)
set(HAKMEM_SANITIZE_tsan thread)
set(HAKMEM_SANITIZE "${HAKMEM_SANITIZE_${HAKMEM_VARIANT}}")
if(HAKMEM_VARIANT MATCHES "^(aarch64|musl)$")
    set(HAKMEM_SOURCE_VARIANT STANDARD)
elseif(HAKMEM_SANITIZE)
    set(HAKMEM_SOURCE_VARIANT CHECK)
else()
    string(TOUPPER ${HAKMEM_VARIANT} HAKMEM_SOURCE_VARIANT)
endif()

# An allocator must not have its own calls turned into calls of itself, and a test that frees at once what it
# allocated must not have both removed.
set(HAKMEM_NO_BUILTIN)
foreach(name malloc calloc realloc free aligned_alloc memalign posix_memalign valloc pvalloc reallocarray)
    list(APPEND HAKMEM_NO_BUILTIN -fno-builtin-${name})
endforeach()

# An experiment opens or shuts single boxes: -DHAKMEM_BOXES="counters=1;report_foreign=0"
set(HAKMEM_BOXES "" CACHE STRING "boxes to open (name=1) or shut (name=0) whatever the variant says")
list(TRANSFORM HAKMEM_BOXES PREPEND HAKMEM_BOX_ OUTPUT_VARIABLE HAKMEM_BOX_DEFINITIONS)

set(HAKMEM_WARNINGS -Wall -Wextra -Wpedantic -Wshadow)
if(HAKMEM_WERROR)
    list(APPEND HAKMEM_WARNINGS -Werror)
endif()

set(HAKMEM_SANITIZE_FLAGS)
if(HAKMEM_SANITIZE)
    set(HAKMEM_SANITIZE_FLAGS -fsanitize=${HAKMEM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
endif()

# A compiler that serves several targets is told which one; cmake/library.cmake and cmake/first_pages.cmake call it by themselves, too.
set(HAKMEM_TARGET_FLAGS)
if(CMAKE_C_COMPILER_TARGET AND CMAKE_C_COMPILE_OPTIONS_TARGET)
    list(APPEND HAKMEM_TARGET_FLAGS ${CMAKE_C_COMPILE_OPTIONS_TARGET}${CMAKE_C_COMPILER_TARGET})
endif()
if(CMAKE_SYSROOT AND CMAKE_C_COMPILE_OPTIONS_SYSROOT)
    list(APPEND HAKMEM_TARGET_FLAGS ${CMAKE_C_COMPILE_OPTIONS_SYSROOT}${CMAKE_SYSROOT})
endif()

# Unwind tables: what a new_handler throws passes through the C++ operators (see src/cxx.h).
# Not -flto, also where all else is built with it, as by distributions: no name of such an object can be made local, as the archive
# needs it, and one translation unit has nothing to gain.
function(hakmem_library_flags target)
    target_compile_features(${target} PRIVATE c_std_11)
    set_target_properties(${target} PROPERTIES C_EXTENSIONS OFF INTERPROCEDURAL_OPTIMIZATION OFF)
    target_compile_definitions(${target} PRIVATE
        HAKMEM_VARIANT_${HAKMEM_SOURCE_VARIANT} ${HAKMEM_BOX_DEFINITIONS})
    target_compile_options(${target} PRIVATE
        -fPIC -fvisibility=hidden -ftls-model=initial-exec -falign-functions=64 -ffunction-sections -fno-plt
        -fno-semantic-interposition -fexceptions -fasynchronous-unwind-tables
        -fno-lto ${HAKMEM_NO_BUILTIN} ${HAKMEM_WARNINGS} ${HAKMEM_SANITIZE_FLAGS})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
endfunction()

function(hakmem_test_flags target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11 C_EXTENSIONS ON CXX_STANDARD 17 CXX_EXTENSIONS ON POSITION_INDEPENDENT_CODE ON)
    target_compile_definitions(${target} PRIVATE
        HAKMEM_VARIANT_${HAKMEM_SOURCE_VARIANT} ${HAKMEM_BOX_DEFINITIONS})
    target_compile_options(${target} PRIVATE ${HAKMEM_NO_BUILTIN} -Wall -Wextra ${HAKMEM_SANITIZE_FLAGS}
        ${HAKMEM_KERNEL_HEADERS})
    target_link_options(${target} PRIVATE ${HAKMEM_SANITIZE_FLAGS})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
endfunction()
