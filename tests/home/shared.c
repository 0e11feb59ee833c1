/*
 * shared: does a forked child share the heap that it comes with for as long as it does not write to it?
 *
 * The janitor makes huge pages of areas of a large heap, in the child as well; there each would be a copy, of what a server that forks
 * many workers has once. Decided by what /proc/self/smaps_rollup says is the child's alone while its parent waits.
 */
#include "home.h"

#include <sys/wait.h>

enum { BLOCKS = 130000, SIZE = 240, LOOKED = 20, OWN_KIB = 8 << 10 };

static unsigned char *blocks[BLOCKS];

static long own_kib(void) {
    return rollup_kib("Private_Clean:") + rollup_kib("Private_Dirty:");
}

/* For as long as a janitor may look at what it came with. */
static int look_on(void) {
    not_alone(); /* the child has one thread */
    for (int i = 0; i < LOOKED; i++) {
        swing();
        rest(LOOK_MS);
    }
    janitor_rests(janitor());
    printf("%ld KiB are its own, of %ld\n", own_kib(), rss_kib());
    return own_kib() <= OWN_KIB ? 0 : 1;
}

int main(void) {
    int status;
    not_alone();
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(SIZE);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, SIZE);
    }
    CHECK(rss_kib() > 3 * OWN_KIB);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        exit(look_on());
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    return 0;
}
