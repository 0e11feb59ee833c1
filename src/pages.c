#include "pages.h"

#include "base.h"
#include "boxes.h"
#include "os.h"

enum { PAGES_SAMPLE = 1024 }; /* pages that one call looks at */

/* How many of eight bytes are odd. */
static size_t pages_odd_bytes(uint64_t word) {
    const uint64_t ones = 0x0101010101010101;
    return (word & ones) * ones >> 56;
}

/* Words of eight pages in an area: four where pages are of 64 KiB. */
static size_t pages_eights(void) {
    return PAGES_AREA / 8 / os_page_size();
}

/* What was looked at, in pages: those of areas of which something is in memory, and of them those that are. */
struct pages_found {
    size_t touched, present;
};

/* Pages in memory of at most PAGES_SAMPLE pages. */
static size_t pages_count(const unsigned char *start, size_t pages, struct pages_found *found) {
    union {
        unsigned char page[PAGES_SAMPLE];
        uint64_t eight[PAGES_SAMPLE / 8];
    } present;
    size_t count = 0, eights = (pages + 7) / 8, area = pages_eights();
    present.eight[eights - 1] = 0;
    if (!os_in_memory(start, pages, present.page))
        return pages;
    for (size_t i = 0, end; i < eights; i = end) {
        size_t before = count;
        end = eights - i < area ? eights : i + area;
        for (size_t at = i; at < end; at++)
            count += pages_odd_bytes(present.eight[at]);
        found->touched += count > before ? 8 * (end - i) : 0;
    }
    found->present += count;
    return count;
}

size_t pages_resident(const void *start, size_t bytes, enum pages_density *density) {
    const unsigned char *at = start;
    size_t page = os_page_size(), pages = bytes / page, count = 0, looked = 0;
    bool all = bytes <= PAGES_COUNTED;
    size_t step = all ? PAGES_SAMPLE : (pages - PAGES_SAMPLE) / 3;
    struct pages_found found = {0};
    for (size_t from = 0; from < pages && (all || looked < 4 * (size_t)PAGES_SAMPLE); from += step) {
        size_t some = pages - from < PAGES_SAMPLE ? pages - from : PAGES_SAMPLE;
        count += pages_count(at + from * page, some, &found);
        looked += some;
    }
    ASSERT(P1, count <= looked);
    bool dense = found.present >= found.touched / 4 * 3;
    *density = found.touched == 0 ? PAGES_UNTOUCHED : dense ? PAGES_DENSE : PAGES_SPARSE;
    return looked == pages ? count * page : bytes / looked * count;
}

size_t pages_run(const void *start, size_t bytes, bool *there) {
    unsigned char present[PAGES_SAMPLE];
    size_t page = os_page_size(), most = bytes < PAGES_RUN ? bytes : PAGES_RUN, pages = most / page, run = 1;
    *there = true;
    if (!os_in_memory(start, pages, present))
        return bytes;
    *there = present[0] & 1;
    while (run < pages && (present[run] & 1) == (present[0] & 1))
        run++;
    return run * page;
}

bool pages_are_own(const void *start, size_t bytes) {
    uint64_t words[PAGES_AREA / 4096];
    size_t pages = bytes / os_page_size();
    if (!os_page_words(start, pages, words))
        return false;
    for (size_t i = 0; i < pages; i++)
        if ((words[i] & (OS_PAGE_THERE | OS_PAGE_ALONE)) == OS_PAGE_THERE)
            return false;
    return true;
}
