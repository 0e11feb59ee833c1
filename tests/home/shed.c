/*
 * shed: does what came with a huge page, and nobody was ever given, go home when the program has stopped to grow?
 *
 * Small blocks are taken until a huge page comes, of which most is not used. While the program rests that goes home: decided by resident
 * memory. What is used keeps what stands there, and what is taken then is zeroed. That 2 MB came and went before is what called the janitor.
 *
 * SKIP where no huge page comes.
 */
#include "home.h"

enum { SIZE = 240, MOST = 8 << 20, AT_ONCE = 64 << 10, CAME_KIB = 1500 };

static unsigned char *blocks[MOST / SIZE + 1];

/* Takes blocks until more has come than they are; returns how many, or 0. */
static int take_until_huge(void) {
    int count = 0;

    while (count < MOST / SIZE) {
        long before = rss_kib();
        for (int end = count + AT_ONCE / SIZE; count < end; count++) {
            blocks[count] = malloc(SIZE);
            CHECK(blocks[count] != NULL);
            memset(blocks[count], count & 0xff, SIZE);
        }
        if (rss_kib() - before >= CAME_KIB)
            return count;
    }
    return 0;
}

int main(void) {
    not_alone();
    swing();
    int count = take_until_huge();
    if (count == 0)
        skip("no huge page came");
    long before = rss_kib();
    AWAIT(rss_kib() <= before - CAME_KIB);
    printf("%d blocks; resident %ld KiB, then %ld\n", count, before, rss_kib());
    for (int i = 0; i < count; i++)
        for (int at = 0; at < SIZE; at++)
            CHECK(blocks[i][at] == (i & 0xff));
    for (int i = 0; i < 2 * AT_ONCE / SIZE; i++) {
        unsigned char *zeroed = calloc(1, SIZE);
        CHECK(zeroed != NULL);
        for (int at = 0; at < SIZE; at++)
            CHECK(zeroed[at] == 0);
    }
    return 0;
}
