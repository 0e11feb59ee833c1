/*
 * asks: has a program of one thread that itself asks libc for that, as std::shared_ptr does, one thread also when more rests?
 *
 * With what makes other programs get a second one it has none; with a quarter of HAKMEM_KEEP_FREE, 16 MiB, it has, and that goes home.
 * Built so that it has a copy of libc's word, and so that it refers to it.
 */
#include "home.h"

#include <sys/single_threaded.h>

enum { LITTLE = 12 << 20, MUCH = 40 << 20, REST_MS = 1000, LIVE_MOST_KIB = 16 << 10 };

int main(void) {
    struct blocks blocks = {.state = 1};

    CHECK(__libc_single_threaded);
    build(&blocks, LITTLE);
    long before = rss_kib();
    drop(&blocks, 0);
    rest(REST_MS);
    CHECK(janitor() == 0 && __libc_single_threaded);
    CHECK(rss_kib() > before - LITTLE / 1024 / 2);
    build(&blocks, MUCH);
    drop(&blocks, 0);
    AWAIT(rss_kib() < LIVE_MOST_KIB);
    CHECK(janitor() != 0 && !__libc_single_threaded);
    return 0;
}
