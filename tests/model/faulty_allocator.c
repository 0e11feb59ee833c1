/*
 * A preloadable allocator with one deliberate fault: the proof that random_program would find it.
 *
 * It hands every call on to glibc's own allocator (__libc_malloc and its sisters). Once FAULT_AFTER calls have been made,
 * every FAULT_EVERY-th call that can show the fault named by the environment variable FAULT shows it:
 *
 *   none       no fault: the same layer must pass
 *   twice      malloc hands out a block that is still live
 *   inside     malloc hands out the middle of a block that is still live
 *   scribble   free writes into a block that is still live
 *   zero       calloc leaves one byte that is not zero
 *   copy       realloc copies half of the content
 *   align      aligned calls return a block aligned to half of what was asked
 *   usable     malloc_usable_size says less than was asked for
 *   errno      free changes errno
 *   huge       an impossible request is granted
 *   silent     malloc gives NULL and does not set ENOMEM
 *
 * Who runs it: selftest.py. The faults that need `last` are for programs of one thread; the others also for several.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FAULT_AFTER 64
#define FAULT_EVERY 16

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

/* The usable size of a glibc block: the word before it, less the flags and that word. */
static size_t glibc_usable_size(const void *block) {
    size_t word;
    memcpy(&word, (const unsigned char *)block - sizeof word, sizeof word);
    size_t chunk = word & ~(size_t)7;
    bool mapped = (word & 2) != 0;
    return chunk - (mapped ? 2 : 1) * sizeof word;
}

static struct {
    atomic_size_t calls;
    _Atomic(unsigned char *) last; /* a block of at least 64 bytes that is live */
    const char *fault;
} faulty;

__attribute__((constructor)) static void faulty_start(void) {
    const char *fault = getenv("FAULT");
    faulty.fault = fault != NULL ? fault : "none";
}

static bool fault_now(const char *fault) {
    if (faulty.fault == NULL || strcmp(faulty.fault, fault) != 0)
        return false;
    size_t calls = atomic_fetch_add(&faulty.calls, 1);
    return calls >= FAULT_AFTER && calls % FAULT_EVERY == 0;
}

void *malloc(size_t size) {
    if (size > PTRDIFF_MAX && fault_now("huge"))
        return __libc_malloc(64);
    if (size > 0 && fault_now("silent"))
        return NULL;
    unsigned char *last = atomic_load(&faulty.last);
    if (last != NULL && size <= glibc_usable_size(last) && fault_now("twice"))
        return last;
    if (last != NULL && size + 32 <= glibc_usable_size(last) && fault_now("inside"))
        return last + 32;
    void *block = __libc_malloc(size);
    if (size >= 64)
        atomic_store(&faulty.last, block);
    return block;
}

void free(void *block) {
    unsigned char *expected = block;
    bool was_last = atomic_compare_exchange_strong(&faulty.last, &expected, NULL);
    if (!was_last && expected != NULL && fault_now("scribble"))
        expected[17] ^= 1;
    __libc_free(block);
    if (fault_now("errno"))
        errno = EAGAIN;
}

void *calloc(size_t count, size_t size) {
    unsigned char *block = __libc_calloc(count, size);
    if (block != NULL && count * size > 0 && fault_now("zero"))
        block[count * size - 1] = 1;
    return block;
}

void *realloc(void *block, size_t size) {
    unsigned char *expected = block;
    atomic_compare_exchange_strong(&faulty.last, &expected, NULL);
    if (block == NULL || size < 32 || glibc_usable_size(block) < 32 || !fault_now("copy"))
        return __libc_realloc(block, size);
    void *copy = __libc_malloc(size);
    size_t usable = glibc_usable_size(block);
    memcpy(copy, block, (usable < size ? usable : size) / 2);
    __libc_free(block);
    return copy;
}

void *memalign(size_t alignment, size_t size) {
    if (alignment < 32 || !fault_now("align"))
        return __libc_memalign(alignment, size);
    unsigned char *block = __libc_memalign(alignment, size + alignment);
    return block != NULL ? block + alignment / 2 : NULL;
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    int saved = errno;
    void *at = memalign(alignment, size);
    errno = saved;
    if (at == NULL)
        return ENOMEM;
    *block = at;
    return 0;
}

size_t malloc_usable_size(void *block) {
    if (block == NULL)
        return 0;
    return fault_now("usable") ? 1 : glibc_usable_size(block);
}
