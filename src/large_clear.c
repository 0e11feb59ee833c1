/* Large blocks that are to read as zero. */
#include "large_parts.h"

#include "limit.h"
#include "os.h"
#include "pages.h"

#include <string.h>

enum {
    END = UNIT_SIZE, /* bytes */
    GAPS_MOST = 64   /* of missing pages, one call each; behind them all goes home with one more */
};

/* Nearly all of what is asked for is in memory, as last measured; or its end is, as of what was written whole: then to look at all of it
 * costs more than what is missing. */
static bool large_is_there(const struct large *large, size_t bytes) {
    favour_take(&larges.lock); /* who takes slack back changes what was measured */
    bool there = large_is_warm_for(large, bytes);
    favour_release(&larges.lock);
    return there || (pages_run(large_unit(large) + bytes - END, END, &there) == END && there);
}

/* What is missing may still hold something that is elsewhere, as in swap. */
static void large_clear_gap(unsigned char *start, size_t bytes) {
    if (bytes > 0 && !(limit_may_purge() && superslab_clear(start, bytes)))
        memset(start, 0, bytes);
}

/* Touched by nobody, the pages that are missing stay missing. docs/experiments/sparse-callocs.md */
static void large_clear_pages(unsigned char *start, size_t bytes) {
    size_t gap = 0, at = 0; /* of missing pages: from where on */
    for (unsigned gaps = 0; at < bytes && gaps < GAPS_MOST;) {
        bool there;
        size_t run = pages_run(start + at, bytes - at, &there);
        if (there) {
            gaps += at > gap;
            large_clear_gap(start + gap, at - gap);
            memset(start + at, 0, run);
            gap = at + run;
        }
        at += run;
    }
    large_clear_gap(start + gap, bytes - gap);
}

void *large_clear(void *block, size_t bytes) {
    const struct large *large = pagemap_record(block);
    unsigned char *unit = large_unit(large);
    size_t pages = align_up(large_colour(large) + bytes, os_page_size());
    if (large->home || pages <= END || large_is_there(large, pages))
        return memset(block, 0, bytes);
    large_clear_pages(unit, pages);
    return block;
}
