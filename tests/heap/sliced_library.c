/* Of the name of Python's greenlet, which copies the stack of others away and runs over where it was: what is beneath its own frame is
 * not a stack. Here that is its return address, while it calls. */
#include <stdint.h>

void greenlet_call(void (*called)(void));

__attribute__((noinline)) void greenlet_call(void (*called)(void)) {
    volatile uintptr_t *frame = __builtin_frame_address(0);
    uintptr_t kept = frame[1];

    frame[1] = 1; /* no code is there, and nothing else */
    called();
    frame[1] = kept;
}
