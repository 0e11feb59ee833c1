/*
 * growing_vector: does a vector that grows to 1 GiB by realloc copy its bytes?
 *
 * From 16 bytes it grows by half each time; only the last bytes of each size are written. Nothing beyond 128 KiB may be
 * copied: the pages of such a block can move. Counted in two ways: this program's own memcpy and memmove, which the
 * library is bound to, count the bytes of copies above 128 KiB; and a copy by whatever means fills pages of the new
 * block that nobody touched, which mincore() shows. Once a vector grows alone, once two grow in turn, so that neither
 * finds room behind it. All that was written is read again at the end.
 *
 * SKIP where there is no address space for it.
 */
#include "bars.h"

#include <sys/mman.h>
#include <sys/prctl.h>

enum { COPY_MOST = 128 << 10, GIVE_UP = 64 << 20, PAGE = 4096, STEPS_MOST = 64, VECTORS = 2 };
/* KiB a vector: copied in calls above 128 KiB, and resident though nobody touched it. */
enum { BAR_KIB = 0, REACHED_COPIED_KIB = 0, REACHED_RESIDENT_KIB = 0 };
static const size_t largest = (size_t)1 << 30;

/* volatile: the compiler takes realloc for a function that never calls back into this file. */
static volatile size_t copies, large_copies, large_copied;

/* What the compiler cannot take for a memcpy and replace by itself. */
static void *copy(unsigned char *to, const unsigned char *from, size_t size, bool up) {
    copies++;
    if (size > COPY_MOST) {
        large_copies++;
        large_copied += size;
    }
    for (size_t i = 0; i < size; i++) {
        size_t at = up ? i : size - 1 - i;
        to[at] = from[at];
        __asm__ volatile("" ::: "memory");
    }
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    return copy(to, from, size, true);
}

void *memmove(void *to, const void *from, size_t size) {
    return copy(to, from, size, (uintptr_t)to <= (uintptr_t)from);
}

struct vector {
    unsigned char *bytes;
    size_t size, steps, ends[STEPS_MOST];
};

static size_t resident_pages(const struct vector *vector) {
    static unsigned char pages[(1 << 30) / PAGE + 1];
    uintptr_t first = (uintptr_t)vector->bytes & ~(uintptr_t)(PAGE - 1);
    size_t count = ((uintptr_t)vector->bytes + vector->size - first + PAGE - 1) / PAGE, resident = 0;

    CHECK(mincore((void *)first, count * PAGE, pages) == 0);
    for (size_t i = 0; i < count; i++)
        resident += pages[i] & 1;
    return resident;
}

static void grow(struct vector *vector) {
    vector->size = vector->size == 0 ? 16 : vector->size + vector->size / 2;
    if (vector->size > largest)
        vector->size = largest;
    vector->bytes = realloc(vector->bytes, vector->size);
    CHECK(vector->bytes != NULL && vector->steps < STEPS_MOST);
    vector->bytes[vector->size - 1] = (unsigned char)(vector->steps + 1);
    vector->ends[vector->steps++] = vector->size;
}

static void check_content(const struct vector *vector) {
    for (size_t i = 0; i < vector->steps; i++)
        CHECK(vector->bytes[vector->ends[i] - 1] == i + 1);
}

static void measure(const char *what, unsigned count) {
    struct vector vectors[VECTORS] = {{.bytes = NULL}};
    size_t most = 0;

    large_copies = large_copied = copies = 0;
    while (vectors[count - 1].size < largest && large_copied < GIVE_UP) {
        for (unsigned i = 0; i < count; i++) {
            grow(&vectors[i]);
            if (vectors[i].size <= COPY_MOST)
                continue;
            /* A page was touched in each step, and what was copied while the vector was small may be whole. */
            size_t resident = resident_pages(&vectors[i]), touched = vectors[i].steps + COPY_MOST / PAGE;
            most = resident > touched && resident - touched > most ? resident - touched : most;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        check_content(&vectors[i]);
        free(vectors[i].bytes);
    }
    printf("%s: %zu copies, %zu of them above 128 KiB (%zu KiB); %zu KiB resident that nobody touched\n",
           what, copies, large_copies, large_copied >> 10, most * PAGE >> 10);
    bar_at_most(what, (long)(large_copied >> 10), BAR_KIB, REACHED_COPIED_KIB * (long)count);
    bar_at_most(what, (long)(most * PAGE >> 10), BAR_KIB, REACHED_RESIDENT_KIB);
    BAR(copies > 0, "%s: the library does not use the memcpy of this program", what);
}

static void require_space(void) {
    void *places[3];

    for (int i = 0; i < 3; i++) {
        places[i] = mmap(NULL, largest, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (places[i] == MAP_FAILED)
            skip("no address space for vectors of 1 GiB");
    }
    for (int i = 0; i < 3; i++)
        munmap(places[i], largest);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 4096);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    CHECK(dlsym(RTLD_DEFAULT, "memcpy") == (void *)(uintptr_t)memcpy);
    require_space();
    measure("one vector", 1);
    measure("two in turn", 2);
    return bars_result();
}
