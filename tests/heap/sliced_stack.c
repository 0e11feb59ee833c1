/* Below a frame of Python's greenlet is no stack that anybody may follow: allocations above it are sampled all the same, and nobody
 * crashes. The argument is a library of that name. libgcc, which unwinds, is loaded late, as in Python. */
#include "../lifecycle/lifecycle.h"

enum { ROUNDS = 100 };

static size_t given;

static void allocate(void) {
    for (size_t i = 0; i < ROUNDS; i++) {
        void *block = malloc(i * i * 100);
        given += block != NULL;
        free(block);
    }
}

int main(int argc, char **argv) {
    CHECK(argc > 1);
    void *library = dlopen(argv[1], RTLD_NOW);
    CHECK(library != NULL);
    void (*call)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(library, "greenlet_call");
    CHECK(call != NULL);
    allocate();
    call(allocate);
    CHECK(given == 2 * (size_t)ROUNDS);
    return 0;
}
