/*
 * Long blocks that come, grow and go while the janitor looks at the first ones of each size.
 *
 * Three threads, from blocks of 8 MiB on, doubling by doubling. Blocks that are not written tell nothing of how such ones are
 * written, so the new ones go on being looked at; they grow, move, are freed and unmapped meanwhile. Then some are written, whole or a little, and
 * their content is checked.
 */
#include "stress.h"

#define THREADS 3
#define DOUBLINGS 4
#define SHORTEST ((size_t)8 << 20)

static void come_and_go(struct test_random *random, size_t size) {
    void *block = tested_malloc(size + test_below(random, size / 2));
    void *longer = tested_realloc(block, size + test_below(random, size));
    if (block == NULL || longer == NULL)
        test_fail("no memory for blocks of %zu to %zu bytes", size, 2 * size);
    tested_free(longer);
}

static void *run(void *argument) {
    struct stress_thread *thread = argument;
    struct test_random *random = &thread->random;
    for (size_t doubling = 0; doubling < DOUBLINGS; doubling++) {
        size_t size = SHORTEST << doubling;
        for (size_t i = 0; i < thread->operations; i++)
            come_and_go(random, size);
        void *block = stress_new(random, doubling % 2 ? size : 100000);
        stress_free(stress_resize(random, block, size / 2));
    }
    return NULL;
}

int main(int argc, char **argv) {
    stress_threads(0, THREADS, stress_start(argc, argv, 400), run);
    return 0;
}
