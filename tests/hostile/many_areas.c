/*
 * many_areas: a heap of 140 GiB of which a part of each huge page is freed (the kernel allows 65,530 mappings).
 *
 * What goes home of an area says first that no huge pages are wanted there, and that makes a mapping of its own: from four fifths of what
 * is allowed on it stops, so that the program still gets what it asks for. Nothing of the heap is touched.
 */
#include "hostile.h"
#include <malloc.h>
#include <sys/mman.h>

enum { RUN = 1 << 20, EVERY = 4, LARGEST = 100000, SPARE = 2000, OTHER = 300 << 20 };

static size_t mappings(void) {
    static char text[1 << 16];
    size_t lines = 0;
    ssize_t got;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

    CHECK(fd >= 0);
    while ((got = read(fd, text, sizeof text)) > 0)
        for (ssize_t i = 0; i < got; i++)
            lines += text[i] == '\n';
    close(fd);
    return lines;
}

int main(void) {
    size_t most = allowed_mappings(), runs = 2 * (most + most / 10);

    if (most > LARGEST)
        skip("max_map_count is too large to be reached quickly");
    void **run = mmap(NULL, runs * sizeof *run, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(run != MAP_FAILED);
    for (size_t i = 0; i < runs; i++)
        if ((run[i] = malloc(RUN)) == NULL)
            skip("the system does not give so many addresses");
    for (size_t i = 0; i < runs; i += EVERY)
        free(run[i]);
    malloc_trim(0);
    size_t used = mappings();
    if (used < most / 10)
        skip("no huge pages are asked for here");
    CHECK(used < most / 5 * 4 + SPARE);
    void *other = malloc(OTHER);
    CHECK(other != NULL);
    free(other);
    for (size_t i = 0; i < runs; i++)
        if (i % EVERY != 0)
            free(run[i]);
    return 0;
}
