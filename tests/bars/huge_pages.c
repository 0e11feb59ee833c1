/*
 * huge_pages: is memory that is written whole faulted by the huge page, and memory that is not, left in small ones?
 *
 * Page faults: blocks of 16 MiB that are all written, kept; a vector that doubles to 256 MiB and is written as it grows; the first two
 * blocks of 128 MiB of a process, but for 2 MiB of one that it has a while to be looked at after; 64 MiB of blocks
 * of 11,500, of 30,000 and of 250,000 bytes that are all written; of 1 MiB, after some of 600 KiB of which little is. Resident memory over what was touched: as many blocks of 16 MiB of
 * which one byte in each 64 KiB is written; the first block of 128 MiB, likewise; the same while blocks of 3 MiB that are all written come between, once
 * kept, once freed and taken in turn; after some of 8 MiB that are all written, but for the first one, which is believed to be so, too; 64 MiB of
 * blocks of those sizes of which the ends and one byte in each 16 KiB are.
 * Both: that vector as C++ has it, by a new block, a copy and a free; vectors of that kind that grow by turns, eight to 4 MiB and 128 to 128 KiB; 33 MiB of blocks of 1,000 bytes, beside 64 of which the ends are
 * written; 37 MiB of blocks of 16 KiB, beside 88 of 38,400 bytes of which the ends are; some blocks at a time of any size, all written, a random one replaced 400 to 4,000 times: sixteen of 64 KiB to 1 MiB, and to 4 MiB, twenty of 300 to 1,500 KiB, two of 64 KiB to 6 MiB,
 * sixty-four of 64 to 250 KiB, four of 64 KiB to 14 MB, six to 12 MB.
 * Each in a process of its own.
 *
 * SKIP where the kernel makes no huge pages on request, makes them unasked, or had none free when a bar was missed.
 */
#include "bars.h"

enum {
    MEBI = 1 << 20,
    PAGE = 4096,
    BLOCK = 16 * MEBI,
    BLOCKS = 16,
    STRIDE = 64 << 10,
    BUFFER = 3 * MEBI,
    FIRST = 128 * MEBI,
    SMALL = BLOCK / PAGE
};
/* Faults: those of one block in small pages, which tells; of the rest one for each huge page; and a quarter of a block more. */
enum {
    BAR_WHOLE = SMALL + SMALL / 4 + BLOCKS * BLOCK / (2 * MEBI),
    BAR_VECTOR = SMALL / 2,
    /* Of each length from 2 to 256 MiB what tells; and a huge page each 2 MiB, and what is shorter. */
    BAR_COPIED = 8 * (2 * MEBI / PAGE) + 1100,
    BAR_FIRST = SMALL / 4,         /* 127 huge pages; and once more as many small ones as a huge one has */
    BAR_MEDIUM = 32 * MEBI / PAGE, /* half of them */
    BAR_BESIDE = 16 * MEBI / PAGE, /* likewise, of 33 MiB */
    BAR_LONG = 20 * MEBI / PAGE,   /* half of them, and an eighth of the rest */
    BAR_AFTER = 12 * MEBI / PAGE   /* of 64: what a small heap has, and a few that tell */
};
/* Percent: resident of what was touched. */
enum { BAR_SPARSE = 110 };
/* Blocks of any size: how many at a time, from how many KiB to how many, how often; faults; percent, resident of the most that was live. */
static const struct replaced {
    size_t slots, least, most;
    int times;
    long bar_taken, bar_held;
} replacements[] = {{16, 64, 1024, 4000, 3000, 170},   {16, 64, 4096, 4000, 12000, 135},
                    {20, 300, 1500, 4000, 13000, 148}, {2, 64, 6000, 4000, 8000, 158},
                    {64, 64, 250, 4000, 1700, 180},    {4, 64, 14000, 800, 10000, 140},
                    {6, 64, 12000, 600, 9000, 140}};
enum { SLOTS_MOST = 64 };
/* Vectors that grow by turns: how many, to how many bytes, by how many at a time; faults; percent, resident of what is live. */
static const struct turns {
    size_t vectors, most, step;
    long bar_faults, bar_held;
} turns[] = {{8, 4 * MEBI, 64 << 10, 3000, 120}, {128, 128 << 10, 4 << 10, 4500, 155}};
enum { TURNS_MOST = 128 };
/* So many times one of which the ends are written, and some that are written whole; faults. */
struct beside {
    size_t times, sparse, each, whole;
    long bar;
};
enum {
    NAMED = 12,
    REPLACED = sizeof replacements / sizeof *replacements,
    TURNS = sizeof turns / sizeof *turns,
    LONG = 11500,
    SHORT = 1000,
    SHORT_EACH = 6,
    HARDLY = 600 << 10,
    HARDLIES = 9 /* more than one of which is looked at */
};
enum { MEDIUMS = 64 * MEBI, APART = 16 << 10, TOUCHED_MOST = 3 * MEDIUMS / LONG };

static unsigned char *blocks[BLOCKS];
static uintptr_t touched_pages[TOUCHED_MOST];

static void whole(void) {
    long before = page_faults();

    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, BLOCK);
    }
    long count = page_faults() - before;
    printf("%d blocks of 16 MiB, written whole: %ld page faults, in small pages %d\n", BLOCKS, count,
           BLOCKS * SMALL);
    bar_at_most("blocks written whole", count, BAR_WHOLE, BAR_WHOLE);
}

static void vector(void) {
    unsigned char *bytes = NULL;
    long before = page_faults();

    for (size_t size = 16, written = 0; size <= 256 * (size_t)MEBI; written = size, size *= 2) {
        bytes = realloc(bytes, size);
        CHECK(bytes != NULL);
        memset(bytes + written, 1, size - written);
    }
    long count = page_faults() - before;
    printf("a vector that doubles to 256 MiB: %ld page faults, in small pages %d\n", count,
           256 * MEBI / PAGE);
    bar_at_most("a vector", count, BAR_VECTOR, BAR_VECTOR);
    free(bytes);
}

static void copied_vector(void) {
    size_t size = 1 << 16;
    unsigned char *bytes = malloc(size);
    long faults = page_faults(), rss = rss_kib(), held = 0;

    CHECK(bytes != NULL);
    memset(bytes, 1, size);
    for (; size < 256 * (size_t)MEBI; size *= 2) {
        unsigned char *longer = malloc(2 * size);
        CHECK(longer != NULL);
        memcpy(longer, bytes, size);
        memset(longer + size, 1, size);
        held = rss_kib() - rss > held ? rss_kib() - rss : held;
        free(bytes);
        bytes = longer;
    }
    long count = page_faults() - faults, percent = held / 1024 * 100 / 384;
    printf("a vector that doubles to 256 MiB by copies: %ld page faults, in small pages %d; "
           "%ld %% of the 384 MiB that were live are resident\n",
           count, 512 * MEBI / PAGE, percent);
    bar_at_most("a vector that is copied", count, BAR_COPIED, BAR_COPIED);
    bar_at_most("... resident of what was live", percent, BAR_SPARSE, BAR_SPARSE);
    free(bytes);
}

/* None has its second half when the next one of that length is made. */
static void copied_by_turns(const struct turns *of) {
    static struct {
        unsigned char *bytes;
        size_t size;
    } vectors[TURNS_MOST];
    long faults = page_faults(), rss = rss_kib(), live = (long)(of->vectors * of->most >> 10);

    for (size_t length = 0; length < of->most; length += of->step) {
        for (size_t i = 0; i < of->vectors; i++) {
            if (length == vectors[i].size) {
                size_t size = length ? 2 * length : of->step;
                unsigned char *longer = malloc(size);
                CHECK(longer != NULL);
                if (length)
                    memcpy(longer, vectors[i].bytes, length);
                free(vectors[i].bytes);
                vectors[i].bytes = longer;
                vectors[i].size = size;
            }
            memset(vectors[i].bytes + length, 1, of->step);
        }
    }
    long count = page_faults() - faults, percent = (rss_kib() - rss) * 100 / live;
    printf("%zu vectors that double to %zu KiB by copies, by turns: %ld page faults, in small pages %zu; "
           "%ld %% of the %ld KiB that are live are resident\n",
           of->vectors, of->most >> 10, count, 2 * of->vectors * of->most / PAGE, percent, live);
    bar_at_most("vectors that grow by turns", count, of->bar_faults, of->bar_faults);
    bar_at_most("... resident of what is live", percent, of->bar_held, of->bar_held);
    for (size_t i = 0; i < of->vectors; i++)
        free(vectors[i].bytes);
}

/* Whether the kernel has been asked for huge pages there, by /proc/self/smaps. */
static bool is_huge(const void *at) {
    FILE *smaps = fopen("/proc/self/smaps", "r");
    char line[512];
    bool inside = false, huge = false;

    CHECK(smaps != NULL);
    while (fgets(line, sizeof line, smaps) != NULL) {
        unsigned long from, to;

        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            inside = from <= (uintptr_t)at && (uintptr_t)at < to;
        if (inside && strncmp(line, "VmFlags:", 8) == 0)
            huge = strstr(line, " hg") != NULL;
    }
    fclose(smaps);
    return huge;
}

static bool both_become_huge(void) {
    for (int ms = 0; ms < 1000; ms += 10) {
        if (is_huge(blocks[0] + BLOCK) && is_huge(blocks[1] + BLOCK))
            return true;
        usleep(10000);
    }
    return false;
}

/* Two of one length, the first ones of the process: what is written of one while it is looked at says how the rest will be. Where this thread did not
 * come to write meanwhile, the next ones are. */
static void first(void) {
    size_t begun = BLOCK / 8, size = 2 * FIRST;
    bool huge = false;

    while (!huge && size > 2 * BLOCK) {
        size /= 2;
        for (int i = 0; i < 2; i++) {
            blocks[i] = malloc(size);
            CHECK(blocks[i] != NULL);
        }
        memset(blocks[0], 1, begun);
        huge = both_become_huge();
    }
    long before = page_faults(), small = (long)(2 * size - begun) / PAGE;
    memset(blocks[0] + begun, 1, size - begun);
    memset(blocks[1], 1, size);
    long count = page_faults() - before;
    printf(
        "the first two blocks of %zu MiB, %s when 2 MiB were written: %ld page faults for the rest, in small "
        "pages %ld\n",
        size / MEBI, huge ? "looked at" : "not looked at", count, small);
    bar_at_most("first blocks", count, BAR_FIRST, BAR_FIRST);
}

static void first_sparse(void) {
    long before = rss_kib(), touched = FIRST / APART * (PAGE / 1024);

    blocks[0] = malloc(FIRST);
    CHECK(blocks[0] != NULL);
    for (size_t at = 0; at < FIRST; at += APART) {
        blocks[0][at] = 1;
        if (at % BLOCK == 0)
            usleep(25000);
    }
    long percent = (rss_kib() - before) * 100 / touched;
    printf("the first block of 128 MiB, a byte in each 16 KiB: %ld %% of the touched pages are resident\n",
           percent);
    bar_at_most("a first block that is written here and there", percent, BAR_SPARSE, BAR_SPARSE);
}

static void sparse(void) {
    long before = rss_kib(), touched = BLOCKS * (BLOCK / STRIDE) * (PAGE / 1024);

    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK);
        CHECK(blocks[i] != NULL);
        for (size_t at = 0; at < BLOCK; at += STRIDE)
            blocks[i][at] = 1;
    }
    long percent = (rss_kib() - before) * 100 / touched;
    printf("%d blocks of 16 MiB, a byte in each 64 KiB: %ld %% of the touched pages are resident\n", BLOCKS,
           percent);
    bar_at_most("blocks written here and there", percent, BAR_SPARSE, BAR_SPARSE);
}

/* Blocks of both sizes in turn, that are kept or, in each further round, freed before. */
static void sparse_between_whole(int rounds) {
    static void *buffers[BLOCKS];
    long before = rss_kib(), touched = BLOCKS * (BUFFER / 1024 + BLOCK / STRIDE * (PAGE / 1024));

    for (int i = 0; i < rounds * BLOCKS; i++) {
        void **buffer = &buffers[i % BLOCKS];
        unsigned char **block = &blocks[i % BLOCKS];
        free(*buffer);
        *buffer = malloc(BUFFER);
        CHECK(*buffer != NULL);
        memset(*buffer, 1, BUFFER);
        free(*block);
        *block = malloc(BLOCK);
        CHECK(*block != NULL);
        for (size_t at = 0; at < BLOCK; at += STRIDE)
            (*block)[at] = 1;
    }
    long percent = (rss_kib() - before) * 100 / touched;
    printf("%d blocks of 16 MiB, a byte in each 64 KiB, and of 3 MiB, written whole, in turn, %d times: "
           "%ld %% of the touched pages are resident\n",
           BLOCKS, rounds, percent);
    bar_at_most("blocks written here and there beside others written whole", percent, BAR_SPARSE, BAR_SPARSE);
}

static void kept_between_whole(void) {
    sparse_between_whole(1);
}

static void taken_between_whole(void) {
    sparse_between_whole(8);
}

/* Of their size nothing is known when the first one comes: it may be resident as a whole. */
static void sparse_after_half(void) {
    void *half = malloc(BLOCK / 2), *other = malloc(BLOCK / 2);
    CHECK(half != NULL && other != NULL);
    memset(half, 1, BLOCK / 2);
    memset(other, 1, BLOCK / 2);
    long before = rss_kib(), touched = BLOCKS * (BLOCK / STRIDE) * (PAGE / 1024), first = BLOCK / 1024;

    for (int i = 0; i < 2 * BLOCKS; i++) {
        free(blocks[i % BLOCKS]);
        blocks[i % BLOCKS] = malloc(BLOCK);
        CHECK(blocks[i % BLOCKS] != NULL);
        for (size_t at = 0; at < BLOCK; at += STRIDE)
            blocks[i % BLOCKS][at] = 1;
    }
    long percent = (rss_kib() - before - first) * 100 / touched;
    printf("%d blocks of 16 MiB, a byte in each 64 KiB, after others of 8 MiB, written whole: "
           "but for one block %ld %% of the touched pages are resident\n",
           BLOCKS, percent);
    bar_at_most("blocks written here and there after others written whole", percent, BAR_SPARSE, BAR_SPARSE);
}

static int compare_pages(const void *left, const void *right) {
    uintptr_t a = *(const uintptr_t *)left, b = *(const uintptr_t *)right;

    return (a > b) - (a < b);
}

/* How many pages the first `count` touches were of. */
static long distinct_pages(size_t count) {
    long pages = 0;

    qsort(touched_pages, count, sizeof touched_pages[0], compare_pages);
    for (size_t i = 0; i < count; i++)
        pages += i == 0 || touched_pages[i] != touched_pages[i - 1];
    return pages;
}

/* The first byte, one in each 16 KiB and the last. */
static void here_and_there(size_t size) {
    memset(touched_pages, 1, sizeof touched_pages);
    size_t blocks_count = MEDIUMS / size, bytes = 0;
    long before = rss_kib();

    for (size_t i = 0; i < blocks_count; i++) {
        unsigned char *block = malloc(size);
        CHECK(block != NULL);
        for (size_t at = 0; at < size + APART - 1; at += APART) {
            unsigned char *byte = block + (at < size ? at : size - 1);
            *byte = 1;
            CHECK(bytes < TOUCHED_MOST);
            touched_pages[bytes++] = (uintptr_t)byte / PAGE;
        }
    }
    long grown = rss_kib() - before;
    long percent = grown * 100 / (distinct_pages(bytes) * (PAGE / 1024));
    printf("%zu blocks of %zu bytes, here and there: %ld %% of the touched pages are resident\n",
           blocks_count, size, percent);
    bar_at_most("blocks written here and there", percent, BAR_SPARSE, BAR_SPARSE);
}

/* Page faults of 64 MiB of such blocks. */
static long faults_of_whole(size_t size) {
    long before = page_faults();

    for (size_t i = 0; i < MEDIUMS / size; i++) {
        void *block = malloc(size);
        CHECK(block != NULL);
        memset(block, 1, size);
    }
    return page_faults() - before;
}

static void medium_whole(size_t size) {
    long count = faults_of_whole(size);

    printf("%zu blocks of %zu bytes, written whole: %ld page faults, in small pages %d\n", MEDIUMS / size,
           size, count, MEDIUMS / PAGE);
    bar_at_most("medium blocks written whole", count, BAR_MEDIUM, BAR_MEDIUM);
}

/* As stores have it that begin with tables, and go on with arenas. */
static void whole_after_sparse(void) {
    for (int i = 0; i < HARDLIES; i++) {
        unsigned char *block = malloc(HARDLY);
        CHECK(block != NULL);
        block[0] = 1;
    }
    long count = faults_of_whole(MEBI);
    printf("%d blocks of 1 MiB, written whole, after %d of 600 KiB, hardly written: %ld page faults, in "
           "small pages %d\n",
           MEDIUMS / MEBI, HARDLIES, count, MEDIUMS / PAGE);
    bar_at_most("blocks written whole after shorter ones that were not", count, BAR_AFTER, BAR_AFTER);
}

/* Blocks of which the ends are written, and shorter ones that are written whole, by turns: more of the former. */
static void beside_sparse(const struct beside *of) {
    size_t ends = 0, pages = of->times * of->each * of->whole / PAGE;
    long rss = rss_kib(), before = page_faults();

    for (size_t i = 0; i < of->times; i++) {
        unsigned char *sparse = malloc(of->sparse);
        CHECK(sparse != NULL);
        sparse[0] = sparse[of->sparse - 1] = 1;
        touched_pages[ends++] = (uintptr_t)sparse / PAGE;
        touched_pages[ends++] = (uintptr_t)(sparse + of->sparse - 1) / PAGE;
        for (size_t k = 0; k < of->each; k++) {
            unsigned char *whole = malloc(of->whole);
            CHECK(whole != NULL);
            memset(whole, 1, of->whole);
        }
    }
    long faults = page_faults() - before, grown = rss_kib() - rss, touched = distinct_pages(ends);
    long percent = grown * 100 / ((touched + (long)pages) * (PAGE / 1024));
    printf(
        "%zu blocks of %zu bytes, beside %zu of %zu of which the ends are written: %ld page faults for the "
        "former, in small pages %zu; %ld %% of the touched pages are resident\n",
        of->times * of->each, of->whole, of->times, of->sparse, faults - touched, pages, percent);
    bar_at_most("blocks beside others of which little is written", faults - touched, of->bar, of->bar);
    bar_at_most("blocks beside others that are written whole", percent, BAR_SPARSE, BAR_SPARSE);
}

static void short_beside_sparse(void) {
    beside_sparse(&(struct beside){MEDIUMS / LONG, LONG, SHORT_EACH, SHORT, BAR_BESIDE});
}

/* Those have to be seen to be written whole. */
static void long_beside_sparse(void) {
    beside_sparse(&(struct beside){2400, 38400, 1, 16 << 10, BAR_LONG});
}

static void replaced(const struct replaced *of) {
    static unsigned char *slots[SLOTS_MOST];
    static size_t sizes[SLOTS_MOST];
    size_t live = 0, most = 0;
    uint64_t random = 1;
    long rss = rss_kib(), before = page_faults(), held = 0;

    for (int i = 0; i < of->times; i++) {
        random = random * 6364136223846793005 + 1442695040888963407;
        size_t slot = (random >> 60 | (random >> 12 & 0xff0)) % of->slots;
        size_t size = (of->least << 10) + (random >> 20) % ((of->most - of->least) << 10);
        free(slots[slot]);
        slots[slot] = malloc(size);
        CHECK(slots[slot] != NULL);
        memset(slots[slot], i, size);
        live += size - sizes[slot];
        sizes[slot] = size;
        most = live > most ? live : most;
        if (i % 64 == 0 && rss_kib() - rss > held)
            held = rss_kib() - rss;
    }
    long count = page_faults() - before, percent = held * 100 / (long)(most >> 10);
    printf(
        "%zu blocks of %zu to %zu KiB, %d times: %ld page faults, %ld %% of the %zu KiB that were live are "
        "resident\n",
        of->slots, of->least, of->most, of->times, count, percent, most >> 10);
    bar_at_most("blocks of any size that are replaced", count, of->bar_taken, of->bar_taken);
    bar_at_most("... resident of what was live", percent, of->bar_held, of->bar_held);
}

static int measure(int which) {
    static void (*const measures[])(void) = {
        whole,         vector, sparse,       kept_between_whole, taken_between_whole, short_beside_sparse,
        copied_vector, first,  first_sparse, sparse_after_half,  whole_after_sparse,  long_beside_sparse};
    static const size_t sizes[] = {LONG, 30000, 250000};
    int sized = which - NAMED - REPLACED - TURNS;

    setvbuf(stdout, NULL, _IOLBF, 4096);
    if (which < NAMED)
        measures[which]();
    else if (which < NAMED + REPLACED)
        replaced(&replacements[which - NAMED]);
    else if (which < NAMED + REPLACED + TURNS)
        copied_by_turns(&turns[which - NAMED - REPLACED]);
    else
        (sized % 2 ? here_and_there : medium_whole)(sizes[sized / 2]);
    return bars_result();
}

static void require_huge_pages(void) {
    if (strstr(text_of("/sys/kernel/mm/transparent_hugepage/enabled"), "[madvise]") == NULL)
        skip("the kernel makes no huge pages on request, or makes them unasked");
}

int main(void) {
    require_huge_pages();
    long refusals = huge_refusals();
    int result = bars_each_apart(measure, NAMED + REPLACED + TURNS + 6);
    skip_if_refused(result == 1, refusals);
    return result;
}
