/* hakmem.h: the public C interface of the hakmem memory allocator.
 *
 * A program does not need this header: preloading or linking hakmem replaces malloc, free and the C++
 * operators. The functions below are for a program that wants hakmem by name, beside whatever allocator
 * owns the name malloc, or that wants to ask the allocator something.
 *
 * Words used below
 *   block      memory handed out by any allocating function of hakmem, prefixed or interposed. All of them
 *              share one heap: a block of malloc may be given to hakmem_free and the other way round.
 *   alignment  every block is aligned to 16 bytes at least; a block whose size is a power of two up to
 *              64 bytes is aligned to its size (not with HAKMEM_FORCE_LIBC_ALLOC=1). Whoever needs more asks
 *              for it.
 *   failure    NULL (or the error number named) with errno set; nothing that existed is changed.
 *              Success never changes errno, and freeing never does.
 *   threads    every function may be called by any thread at any time, for any block, unless it says
 *              otherwise. None may be called from a signal handler that can interrupt another of them.
 *
 * All sizes are bytes.
 */
#ifndef HAKMEM_H
#define HAKMEM_H

#include <stddef.h>
#include <stdint.h>

#define HAKMEM_VERSION_MAJOR 0
#define HAKMEM_VERSION_MINOR 1
#define HAKMEM_VERSION_PATCH 0
#define HAKMEM_VERSION_STRING "0.1.0"

#if defined(__cplusplus) && __cplusplus >= 201103L
#define HAKMEM_NOEXCEPT noexcept
#elif defined(__cplusplus)
#define HAKMEM_NOEXCEPT throw()
#else
#define HAKMEM_NOEXCEPT
#endif

/* In the spelling that no macro of a program changes: some compile with -Dmalloc=hakmem_malloc. */
#if defined(__GNUC__)
#define HAKMEM_ATTRIBUTE(list) __attribute__(list)
#else
#define HAKMEM_ATTRIBUTE(list)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates a block of at least `size` bytes with unspecified content.
 * size 0 gives a block of its own that may be freed but not read or written.
 * Fails with ENOMEM when size is above PTRDIFF_MAX or the system has no memory. */
void *hakmem_malloc(size_t size) HAKMEM_NOEXCEPT
    HAKMEM_ATTRIBUTE((__malloc__, __alloc_size__(1), __warn_unused_result__, __visibility__("default")));

/* Allocates `count` times `size` bytes, all zero.
 * Fails with ENOMEM as hakmem_malloc does, and when the product does not fit a size_t. */
void *hakmem_calloc(size_t count, size_t size) HAKMEM_NOEXCEPT
    HAKMEM_ATTRIBUTE((__malloc__, __alloc_size__(1, 2), __warn_unused_result__, __visibility__("default")));

/* Changes the size of `block`, moving it if need be; the first min(old, new) bytes keep their content,
 * bytes beyond are unspecified, and alignment beyond 16 bytes is not kept.
 * block NULL: hakmem_malloc(size). size 0 and block not NULL: frees the block and returns NULL, errno
 * untouched. Fails with ENOMEM; the old block then stays valid and unchanged. A pointer that is not a
 * block of hakmem fails with ENOMEM (the hardened variant stops the process). */
void *hakmem_realloc(void *block, size_t size) HAKMEM_NOEXCEPT
    HAKMEM_ATTRIBUTE((__alloc_size__(2), __warn_unused_result__, __visibility__("default")));

/* hakmem_realloc(block, count * size), but fails with ENOMEM when the product does not fit a size_t. */
void *hakmem_reallocarray(void *block, size_t count, size_t size) HAKMEM_NOEXCEPT
    HAKMEM_ATTRIBUTE((__alloc_size__(2, 3), __warn_unused_result__, __visibility__("default")));

/* Frees `block`, which is no longer the caller's; NULL does nothing. Any thread may free any block.
 * A pointer that is not a block of hakmem is reported once on stderr and ignored (the fast variant
 * ignores it silently, the hardened variant stops the process). */
void hakmem_free(void *block) HAKMEM_NOEXCEPT HAKMEM_ATTRIBUTE((__visibility__("default")));

/* hakmem_free for a caller who knows the size he asked for: `size` is that of the hakmem_malloc,
 * hakmem_calloc (the product) or hakmem_realloc call that gave the block. */
void hakmem_free_sized(void *block, size_t size) HAKMEM_NOEXCEPT
    HAKMEM_ATTRIBUTE((__visibility__("default")));

/* hakmem_free for a caller who knows the alignment and the size he gave to hakmem_aligned_alloc. */
void hakmem_free_aligned_sized(void *block, size_t alignment, size_t size) HAKMEM_NOEXCEPT
    HAKMEM_ATTRIBUTE((__visibility__("default")));

/* Allocates `size` bytes at a multiple of `alignment`, which is a power of two from 1 up; `size` need not
 * be a multiple of it. Fails with EINVAL when alignment is not a power of two, and with ENOMEM when the
 * system has no memory or address space for it (64 MiB and below work wherever the size does). */
void *hakmem_aligned_alloc(size_t alignment, size_t size) HAKMEM_NOEXCEPT
    HAKMEM_ATTRIBUTE((__malloc__, __alloc_size__(2), __warn_unused_result__, __visibility__("default")));

/* Stores in *block a block of `size` bytes at a multiple of `alignment`, a power of two from
 * sizeof(void *) up. Returns 0; or EINVAL (alignment) or ENOMEM, with *block untouched. errno is never
 * changed. */
int hakmem_posix_memalign(void **block, size_t alignment, size_t size) HAKMEM_NOEXCEPT
    HAKMEM_ATTRIBUTE((__nonnull__(1), __warn_unused_result__, __visibility__("default")));

/* The bytes of `block` that may be used: at least the size asked for. 0 for NULL and for a pointer to memory
 * that is not hakmem's; for a pointer into a block, or to one that was freed, any number. The block must not
 * be freed or resized at the same time. */
size_t hakmem_usable_size(const void *block) HAKMEM_NOEXCEPT HAKMEM_ATTRIBUTE((__visibility__("default")));

/* Gives the memory of free blocks back to the system now, as far as whole pages of it are free, and
 * returns the bytes given back; what sleeping threads hold at hand goes with it, what running threads hold stays.
 * Slow (system calls): meant for the end of a phase, not for a loop. */
size_t hakmem_purge(void) HAKMEM_NOEXCEPT HAKMEM_ATTRIBUTE((__visibility__("default")));

/* What the heap holds, in bytes. Later versions append fields and never change or reorder these. */
struct hakmem_statistics {
    uint64_t mapped_bytes; /* address space held for blocks: live_bytes + free_bytes */
    uint64_t live_bytes;   /* in use: large blocks, and the slabs of small ones with the gaps between them */
    uint64_t free_bytes;   /* in no use, whether or not the system has its pages back */
    uint64_t metadata_bytes; /* the allocator's own records, apart from all the above */
};

/* Fills the first `bytes` bytes of *stats (pass sizeof(struct hakmem_statistics)), and returns the size of the
 * structure this library knows: fields beyond that are set to zero. Threads that allocate meanwhile make
 * the figures approximate; each by itself was true at some moment of the call. With
 * HAKMEM_FORCE_LIBC_ALLOC=1 all figures are those of hakmem, which then owns nothing. */
size_t hakmem_stats(struct hakmem_statistics *stats, size_t bytes) HAKMEM_NOEXCEPT
    HAKMEM_ATTRIBUTE((__nonnull__(1), __visibility__("default")));

/* The version of the library in use as "major.minor.patch": a constant string. Compare it with
 * HAKMEM_VERSION_STRING, the version of this header. */
const char *hakmem_version(void) HAKMEM_NOEXCEPT HAKMEM_ATTRIBUTE((__const__, __visibility__("default")));

/* The variant of the library in use: "standard", "fast", "observe" or "hardened": a constant string. */
const char *hakmem_variant(void) HAKMEM_NOEXCEPT HAKMEM_ATTRIBUTE((__const__, __visibility__("default")));

#ifdef __cplusplus
}
#endif

#endif
