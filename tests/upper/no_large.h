/* no_large: stands for the room large, where heaps are tested without it. */
#ifndef HAKMEM_TESTS_NO_LARGE_H
#define HAKMEM_TESTS_NO_LARGE_H

#include "large.h"

static unsigned hands_in_child; /* as told last */

bool large_hand_in_child(struct large_hand *hand) {
    return hand->may;
}

void large_hands_in_child(unsigned hands) {
    hands_in_child = hands;
}

void large_yield(size_t bytes) {
    (void)bytes;
}

#endif
