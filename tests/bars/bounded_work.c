/*
 * bounded_work: does any single call do work that grows with what others did?
 *
 * Instructions, counted by callgrind. An owner takes 1,000,000 blocks of 16 bytes, the class with the most blocks a
 * slab (BARS_BLOCKS: another number), and sleeps while another thread frees them all; then it wakes, takes and frees.
 * Its calls are counted one by one; the million of the other's, and as many of the owner's own, by the 500. No call
 * may cost more than BOUND instructions, however many blocks wait for their owner: a refill collects a fixed number
 * of slabs, a flush is of two magazines. A group may cost that much more than the median of its kind.
 *
 * SKIP without valgrind or its header.
 */
#include "counted.h"

#if COUNTED_CAN

enum { BLOCKS = 1000000, BLOCK = 16, ONE_BY_ONE = 1000, GROUP = 500, BOUND = 50000, COUNTS_MOST = 10000 };
enum kind { ONE_TAKE, ONE_FREE, GROUP_REMOTE, GROUP_TAKE, GROUP_FREE, KINDS };

static const char *const kind_names[KINDS] = {"one malloc", "one free", "500 remote frees", "500 mallocs",
                                              "500 frees"};

static void *blocks[BLOCKS];
static size_t blocks_most;
static pthread_barrier_t turn;

static void take_range(size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        blocks[i] = malloc(BLOCK);
}

static void free_range(size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        free(blocks[i]);
}

/* What the owner does when it wakes: blocks of the class, and now and then one of another size, up to 32 MiB. */
static void wake_up(void) {
    static void *others[ONE_BY_ONE];

    for (size_t i = 0; i < ONE_BY_ONE; i++) {
        COUNTED(kind_names[ONE_TAKE], blocks[i] = malloc(BLOCK));
        if (i % 8 == 0)
            COUNTED(kind_names[ONE_TAKE], others[i] = malloc((size_t)16 << i / 8 % 22));
    }
    for (size_t i = 0; i < ONE_BY_ONE; i++) {
        COUNTED(kind_names[ONE_FREE], free(blocks[i]));
        if (i % 8 == 0)
            COUNTED(kind_names[ONE_FREE], free(others[i]));
    }
}

static void *own(void *argument) {
    take_range(0, blocks_most);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn); /* asleep while the other frees */
    wake_up();
    for (size_t i = 0; i < blocks_most; i += GROUP)
        COUNTED(kind_names[GROUP_TAKE], take_range(i, i + GROUP));
    for (size_t i = 0; i < blocks_most; i += GROUP)
        COUNTED(kind_names[GROUP_FREE], free_range(i, i + GROUP));
    return argument;
}

static int worker(void) {
    blocks_most = amount("BARS_BLOCKS", BLOCKS) / GROUP * GROUP;
    CHECK(blocks_most >= ONE_BY_ONE && blocks_most <= BLOCKS);
    pthread_barrier_init(&turn, NULL, 2);
    free(taken(1)); /* so that this thread has its heap */
    pthread_t owner = start_thread(own, NULL);
    pthread_barrier_wait(&turn);
    CALLGRIND_START_INSTRUMENTATION;
    for (size_t i = 0; i < blocks_most; i += GROUP)
        COUNTED(kind_names[GROUP_REMOTE], free_range(i, i + GROUP));
    pthread_barrier_wait(&turn);
    join_thread(owner);
    return 0;
}

static long counts[KINDS][COUNTS_MOST];
static size_t count_of[KINDS];

static void note(const char *name, long instructions) {
    int kind = 0;

    while (kind < KINDS && strcmp(name, kind_names[kind]) != 0)
        kind++;
    CHECK(kind < KINDS && count_of[kind] < COUNTS_MOST);
    counts[kind][count_of[kind]++] = instructions;
}

static int ascending(const void *a, const void *b) {
    long left = *(const long *)a, right = *(const long *)b;

    return (left > right) - (left < right);
}

static void check_counts(void) {
    for (int kind = 0; kind < KINDS; kind++) {
        size_t count = count_of[kind];
        CHECK(count > 0);
        qsort(counts[kind], count, sizeof counts[kind][0], ascending);
        long median = counts[kind][count / 2], worst = counts[kind][count - 1];
        printf("%-16s counted %5zu times: median %6ld instructions, worst %6ld\n", kind_names[kind], count,
               median, worst);
        BAR(worst - (kind >= GROUP_REMOTE ? median : 0) <= BOUND, "%s: %ld instructions at worst",
            kind_names[kind], worst);
    }
}

int main(int argc, char **argv) {
    if (is_worker(argc, argv))
        return worker();
    counted_run(note);
    check_counts();
    return bars_result();
}
#else
int main(void) {
    skip("no valgrind/callgrind.h (Debian: valgrind)");
}
#endif
