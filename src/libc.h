/* libc: the names that the library takes over from libc.
 *
 * Owns every C name of exports.def. The hot ones are one call of alloc's inline half and nothing else; the
 * others turn glibc's argument rules and report formats into calls of lower rooms. Build with -fno-builtin-malloc
 * and its kin: a compiler that knows what malloc means may rewrite calloc as a call of itself. Not with -Bsymbolic.
 *
 * P1  every row of exports.def is exported, and nothing else but the names of include/hakmem.h
 * P2  memalign, valloc and pvalloc refuse what glibc refuses, with its errors; api has the same for the others
 * P3  with HAKMEM_FORCE_LIBC_ALLOC the tuning and the reports are libc's
 * P4  a library that is opened with RTLD_DEEPBIND has the same malloc as all others; who opened it is still seen by libc
 * P5  a name that older allocators and valgrind do not take over (reallocarray, pvalloc, the sized frees) goes, as in glibc,
 *     through one that they do: whoever has realloc and free before us gets back only what is theirs
 *
 * Called by the program. Never included by another room.
 */
#ifndef HAKMEM_LIBC_H
#define HAKMEM_LIBC_H

#include <stddef.h>

/* Declared by the newest headers of libc only. */
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

#endif
