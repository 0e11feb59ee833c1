/* pages on Linux: see pages.h. mremap with MREMAP_DONTUNMAP, and mincore. */
#include "base.h"
#include "os.h"
#include "pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PAGES_SAMPLE = 1024, /* pages that one call looks at */
    PAGES_DONT_UNMAP = 4 /* MREMAP_DONTUNMAP, which older headers do not name */
};

bool pages_move_out(void *start, size_t bytes, void *target) {
    int kept = errno;
    long flags = MREMAP_MAYMOVE | MREMAP_FIXED | PAGES_DONT_UNMAP;
    bool moved = syscall(SYS_mremap, start, bytes, bytes, flags, target) != -1;
    errno = kept;
    /* alone in its column, as in os: relaxed */
    atomic_fetch_add_explicit(&os_counts.remap, 1, memory_order_relaxed);
    if (!moved)
        atomic_fetch_add_explicit(&os_counts.remap_failed, 1, memory_order_relaxed);
    return moved;
}

/* Pages in memory of at most PAGES_SAMPLE pages. */
static size_t pages_count(const unsigned char *start, size_t pages) {
    unsigned char present[PAGES_SAMPLE];
    size_t count = 0;
    int kept = errno;
    bool said = syscall(SYS_mincore, start, pages * os_page_size(), present) == 0;
    errno = kept;
    for (size_t i = 0; said && i < pages; i++)
        count += present[i] & 1;
    return said ? count : pages;
}

size_t pages_resident(const void *start, size_t bytes) {
    const unsigned char *at = start;
    size_t page = os_page_size(), pages = bytes / page, count = 0, looked = 0;
    bool all = bytes <= PAGES_COUNTED;
    size_t step = all ? PAGES_SAMPLE : (pages - PAGES_SAMPLE) / 3;
    for (size_t from = 0; from < pages && (all || looked < 4 * (size_t)PAGES_SAMPLE); from += step) {
        size_t some = pages - from < PAGES_SAMPLE ? pages - from : PAGES_SAMPLE;
        count += pages_count(at + from * page, some);
        looked += some;
    }
    return looked == pages ? count * page : bytes / looked * count;
}
