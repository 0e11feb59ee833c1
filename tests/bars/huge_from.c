/*
 * huge_from: does HAKMEM_HUGE_FROM say from which size on a heap gets huge pages?
 *
 * Page faults of 6 MiB of blocks of 240 bytes, all written, in a process of its own each: in the profile `balanced`, by which that is a
 * small heap in small pages; by default, by which what comes after 3 MiB is in huge ones, and there is a page or two of those more than is
 * used; with 4m; with 0, in huge pages from the first byte on; and with 0 but without huge pages. Blocks of many lengths, 100 KiB of each,
 * are no sign that more of them will come: they stay in small ones; 400 KiB of each are. Nor are 130 KiB of each in four threads, of
 * which each may end there. And what is resident with 0 of blocks that grow: they lie close together, not each in a huge page of its own.
 *
 * SKIP where the kernel makes no huge pages on request, makes them unasked, or had none free when a bar was missed.
 */
#include "bars.h"

enum { MEBI = 1 << 20, PAGE = 4096, SIZE = 240, BLOCKS = 6 * MEBI / SIZE, SMALL = 6 * MEBI / PAGE };
enum {
    GROWING = 8,
    GROWS_FROM = 40000,
    GROWS_TO = 100000,
    BESIDE = 3 * MEBI,      /* bytes of small blocks */
    BAR_GROWN = 8192 + 512, /* KiB: four huge pages, and what else is touched */
    FEW_OF_EACH = 100 * 1024,
    SOME_OF_EACH = 400 * 1024,
    OF_EACH_IN_THREADS = 130 * 1024,
    THREADS = 4,
    SHORTEST = 100,
    LONGEST = 8000,
    BAR_SOME = 60,
    BAR_BEYOND = 2048 + 256 /* KiB of what is not used of a huge page, and what else is touched */
};

static int grow(void) {
    static unsigned char *blocks[GROWING];
    long before = rss_kib();
    for (int i = 0; i < BESIDE / SIZE; i++)
        taken(SIZE);
    for (size_t size = GROWS_FROM; size <= GROWS_TO; size += size / 2)
        for (int i = 0; i < GROWING; i++) {
            blocks[i] = realloc(blocks[i], size);
            CHECK(blocks[i] != NULL);
            memset(blocks[i], 1, size);
        }
    dprintf(1, "%ld\n", rss_kib() - before);
    return 0;
}

/* Bytes, in blocks of a length for each size class at most. */
static size_t few_of_each(size_t each) {
    size_t bytes = 0;
    for (size_t size = SHORTEST; size <= LONGEST; size += size / 4)
        for (size_t i = 0; i < each / size; i++, bytes += size)
            memset(taken(size), 1, size);
    return bytes;
}

static pthread_barrier_t all_are_there;

static void *few_in_thread(void *nothing) {
    few_of_each(OF_EACH_IN_THREADS);
    pthread_barrier_wait(&all_are_there);
    pthread_barrier_wait(&all_are_there);
    return nothing;
}

static int few_in_threads(void) {
    pthread_t threads[THREADS];
    CHECK(pthread_barrier_init(&all_are_there, NULL, THREADS + 1) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, few_in_thread, NULL) == 0);
    pthread_barrier_wait(&all_are_there);
    dprintf(1, "%ld\n", rss_kib());
    pthread_barrier_wait(&all_are_there);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static int worker(const char *what) {
    if (strcmp(what, "grow") == 0)
        return grow();
    if (strcmp(what, "threads") == 0)
        return few_in_threads();
    if (strcmp(what, "few") == 0 || strcmp(what, "some") == 0) {
        long faults_before = page_faults();
        size_t bytes = few_of_each(what[0] == 'f' ? FEW_OF_EACH : SOME_OF_EACH);
        dprintf(1, "%ld\n", (page_faults() - faults_before) * 100 / (long)(bytes / PAGE));
        return 0;
    }
    long before = page_faults();
    for (int i = 0; i < BLOCKS; i++) {
        unsigned char *block = malloc(SIZE);
        CHECK(block != NULL);
        memset(block, 1, SIZE);
    }
    dprintf(1, "%ld\n", strcmp(what, "fill") == 0 ? page_faults() - before : rss_kib());
    return 0;
}

static long told(const char *what, const char *from, const char *pages) {
    static struct ran ran;
    static char word[] = "worker";

    run(&ran, (char *[]){self_path(), word, (char *)what, NULL}, (const char *const[]){from, pages, NULL},
        NULL);
    CHECK(ran.status == 0);
    return strtol(ran.text, NULL, 10);
}

static long faults(const char *from, const char *pages) {
    long count = told("fill", from, pages);
    printf("%s, %s: %ld page faults, in small pages %d\n", from, pages, count, SMALL);
    return count;
}

int main(int argc, char **argv) {
    if (is_worker(argc, argv))
        return worker(argv[2]);
    setvbuf(stdout, NULL, _IOLBF, 4096);
    if (strstr(text_of("/sys/kernel/mm/transparent_hugepage/enabled"), "[madvise]") == NULL)
        skip("the kernel makes no huge pages on request, or makes them unasked");
    long refusals = huge_refusals();
    BAR(faults("HAKMEM_PROFILE=balanced", "HAKMEM_HUGE_PAGES=1") >= SMALL, "a small heap got huge pages");
    bar_at_most("page faults by default", faults("HAKMEM_PROFILE=speed", "HAKMEM_HUGE_PAGES=1"),
                SMALL * 3 / 5, SMALL * 3 / 5);
    long beyond = told("hold", "HAKMEM_PROFILE=speed", "HAKMEM_HUGE_PAGES=1") -
                  told("hold", "HAKMEM_PROFILE=balanced", "HAKMEM_HUGE_PAGES=1");
    printf("by default %ld KiB more are resident than in small pages\n", beyond);
    bar_at_most("resident beyond small pages, in KiB", beyond, BAR_BEYOND, BAR_BEYOND);
    long threads = told("threads", "HAKMEM_PROFILE=speed", "HAKMEM_HUGE_PAGES=1") -
                   told("threads", "HAKMEM_PROFILE=balanced", "HAKMEM_HUGE_PAGES=1");
    printf("the same in %d threads with blocks of many lengths: %ld KiB\n", THREADS, threads);
    bar_at_most("resident beyond small pages in threads, in KiB", threads, BAR_BEYOND, BAR_BEYOND);
    long few = told("few", "HAKMEM_HUGE_FROM=512k", "HAKMEM_HUGE_PAGES=1");
    printf("%ld page faults for 100 pages of blocks of many lengths, few of each\n", few);
    BAR(few >= 100, "few blocks of a length got huge pages");
    long some = told("some", "HAKMEM_HUGE_FROM=512k", "HAKMEM_HUGE_PAGES=1");
    printf("%ld where there are some of each\n", some);
    bar_at_most("page faults where there are some of each", some, BAR_SOME, BAR_SOME);
    bar_at_most("page faults from 4m on", faults("HAKMEM_HUGE_FROM=4m", "HAKMEM_HUGE_PAGES=1"), SMALL * 3 / 4,
                SMALL * 3 / 4);
    bar_at_most("page faults from the first byte on", faults("HAKMEM_HUGE_FROM=0", "HAKMEM_HUGE_PAGES=1"),
                SMALL / 10, SMALL / 10);
    BAR(faults("HAKMEM_HUGE_FROM=0", "HAKMEM_HUGE_PAGES=0") >= SMALL, "HAKMEM_HUGE_PAGES=0 is none");
    long grown = told("grow", "HAKMEM_HUGE_FROM=0", "HAKMEM_HUGE_PAGES=1");
    printf("%d KiB of small blocks, and %d that grow to %d KB: %ld KiB resident\n", BESIDE / 1024, GROWING,
           GROWS_TO / 1000, grown);
    bar_at_most("resident of blocks that grow", grown, BAR_GROWN, BAR_GROWN);
    skip_if_refused(bars_result() != 0, refusals);
    return bars_result();
}
