/*
 * small: does a program with 400 blocks stay small where the kernel makes huge pages unasked?
 *
 * Of the library's tables and superslabs a program like this touches a few pages each: were they huge, 2 MiB each.
 */
#include "../lifecycle/lifecycle.h"

enum { BLOCKS = 400, STEPS = 100000, RESIDENT_KIB = 3500 };

int main(void) {
    static void *blocks[BLOCKS];
    unsigned state = 1;

    for (int step = 0; step < STEPS; step++) {
        void **slot = &blocks[next_random(&state) % BLOCKS];
        size_t size = 16 + next_random(&state) % 1009;
        free(*slot);
        *slot = malloc(size);
        CHECK(*slot != NULL);
        fill(*slot, size, 1);
    }
    long resident = status_kib("VmHWM:");
    dprintf(2, "at most %ld KiB resident\n", resident);
    CHECK(resident > 0 && resident < RESIDENT_KIB);
    return 0;
}
