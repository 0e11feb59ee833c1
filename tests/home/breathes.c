/*
 * breathes: does a heap that shrinks and grows again keep its huge pages?
 *
 *   breathes                            the test
 *   breathes BLOCKS PERCENT BREATHS     tells only: so many blocks, of which so many per cent are freed, and taken again after 600 ms
 *
 * A third of the blocks is freed at random: hardly a page is free as a whole, and a huge page that is split for it is 512 small ones for
 * as long as the heap lives. So those stay whole, while the process rests and when it grows again. Where much is freed they are split,
 * and memory goes home; they are made anew when the heap has grown again. Decided by what /proc/self/smaps says.
 *
 * SKIP where the kernel cannot, or had no free huge page.
 */
#include "home.h"

enum { BLOCKS = 240000, BREATHS = 3, THIRD = 33, NEARLY_ALL = 99 };
enum { KEPT_PERCENT = 95, HOME_PERCENT = 40, AGAIN_PERCENT = 80 };
enum { REST_MS = 600, WORK_MS = 400, STEPS = 2000, SIZES_FROM = 16, SIZES = 496 };

static unsigned char **blocks;
static unsigned count, state = 1;

static unsigned char *new_block(void) {
    return memset(taken(SIZES_FROM + next_random(&state) % SIZES), 1, SIZES_FROM);
}

static void take_all(void) {
    for (unsigned i = 0; i < count; i++)
        if (!blocks[i])
            blocks[i] = new_block();
}

static void free_some(unsigned percent) {
    for (unsigned i = 0; i < count; i++)
        if (next_random(&state) % 100 < percent) {
            free(blocks[i]);
            blocks[i] = NULL;
        }
}

/* Blocks a second that are freed and taken anew, chosen at random. */
static double work(void) {
    long began = now_ms(), steps = 0;
    for (; now_ms() - began < WORK_MS; steps += STEPS)
        for (int i = 0; i < STEPS; i++) {
            unsigned chosen = next_random(&state) % count;
            free(blocks[chosen]);
            blocks[chosen] = new_block();
        }
    return (double)steps * 1000 / (double)(now_ms() - began);
}

static void tell(unsigned percent, unsigned breaths) {
    for (unsigned breath = 0; breath < breaths; breath++) {
        long began = now_ms();
        take_all();
        long grown = now_ms() - began;
        double speed = work() / 1e6;
        long resident = rss_kib(), packed = packed_kib();
        free_some(percent);
        rest(REST_MS);
        printf("grown in %4ld ms, %5.2f M blocks a second; MiB resident %ld, in huge pages %ld; after a rest "
               "%ld, %ld\n",
               grown, speed, resident >> 10, packed >> 10, rss_kib() >> 10, packed_kib() >> 10);
    }
}

/* Until most of the heap is in huge pages, and somebody looks after it. */
static void await_packed(long refusals, long goal) {
    AWAIT((swing(), janitor() != 0 && (packed_kib() >= goal || huge_refusals() > refusals)));
    skip_if_refused(packed_kib() < goal, refusals);
    janitor_rests(janitor()); /* what has swung is home */
}

int main(int argc, char **argv) {
    count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : BLOCKS;
    CHECK(count > 0 && (argc == 1 || argc == 4));
    blocks = table_of(count * sizeof *blocks);
    if (argc > 1) {
        tell((unsigned)strtoul(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10));
        return 0;
    }
    if (!kernel_packs())
        skip("this kernel makes no huge pages of small ones");
    not_alone();
    long refusals = huge_refusals();
    take_all();
    long peak = rss_kib(), most = peak * AGAIN_PERCENT / 100;
    await_packed(refusals, most);
    long packed = packed_kib();
    for (int breath = 0; breath < BREATHS; breath++) {
        free_some(THIRD);
        janitor_rests(janitor());
        long rested = packed_kib();
        take_all();
        printf("%ld KiB in huge pages, %ld without a third of the blocks, %ld with it\n", packed, rested,
               packed_kib());
        skip_if_refused(packed_kib() < packed * KEPT_PERCENT / 100, refusals);
        CHECK(rested >= packed * KEPT_PERCENT / 100 && packed_kib() >= packed * KEPT_PERCENT / 100);
    }
    free_some(NEARLY_ALL);
    AWAIT(rss_kib() * 100 < peak * HOME_PERCENT);
    printf("%ld KiB resident, %ld, %ld of it in huge pages, with a block in a hundred\n", peak, rss_kib(),
           packed_kib());
    CHECK(packed_kib() < packed / 2);
    take_all();
    await_packed(refusals, most);
    printf("%ld KiB in huge pages again\n", packed_kib());
    return 0;
}
