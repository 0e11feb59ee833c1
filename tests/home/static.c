/*
 * static: does a program without a dynamic linker work, and does its memory go home?
 *
 * Linked with the archive and -static. It has no janitor; slow paths do its work.
 */
#define TEST_ANY_MALLOC
#include "home.h"

static void *work(void *nothing) {
    churn(3, 5000);
    return nothing;
}

int main(void) {
    struct blocks blocks = {.state = 1};

    setvbuf(stdout, NULL, _IOLBF, 4096);
    join_thread(start_thread(work, NULL));
    build(&blocks, 48 * MIB);
    long peak = rss_kib();
    drop(&blocks, 0);
    AWAIT(goes_home(peak / 5));
    CHECK(janitor() == 0);
    return 0;
}
