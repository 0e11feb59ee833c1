/*
 * Random programs of allocator calls, checked against a shadow heap.
 *
 *   random_program [THREADS [STEPS [ROUNDS]]]        (default 1 thread, 100,000 steps, 3 rounds)
 *
 * Each round runs THREADS threads of STEPS steps; round r is seeded with TEST_SEED + r (default 1). A step picks a slot
 * of its thread: an empty one is filled by malloc, calloc, realloc(NULL) or an aligned call, a full one is freed,
 * reallocated, looked at, or handed to whichever thread takes it from the shared table. Every 4,096 steps the mix
 * changes (growing or shrinking heap; one size, small, mixed or large sizes), so that heaps fill, drain and fill again.
 * Threads end with live blocks, which the main thread frees.
 *
 * Checked for every block: alignment, no overlap with a live block, the whole usable size is writable and keeps its
 * content until it is freed by whichever thread, calloc's zeros, realloc's copy, a usable size that is large enough and
 * does not change, errno kept by free, ENOMEM for impossible requests. Refusals of possible requests are tolerated while
 * they are rare (a machine may be short of memory). The first thing found is printed with the seed; status 1.
 */
#include "pattern.h"
#include "shadow.h"
#include "tested_allocator.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define THREADS_MOST 16
#define SLOTS 384
#define TABLE 256
#define PHASE_STEPS 4096

struct block {
    unsigned char *at;
    size_t size;
    size_t usable;
    uint64_t id;
};

struct worker {
    struct test_random random;
    unsigned number;
    size_t step;
    size_t steps;
    uint64_t next_id;
    size_t requests;
    size_t refusals;
    unsigned free_share; /* of 100 steps on a full slot */
    unsigned size_kind;
    size_t one_size;
    struct block *slots[SLOTS];
    struct block blocks[SLOTS];
};

enum size_kind { SIZE_ONE, SIZE_SMALL, SIZE_MIXED, SIZE_LARGE, SIZE_KINDS };

static struct worker workers[THREADS_MOST];
static struct block table_blocks[TABLE];
static _Atomic(struct block *) table[TABLE];

#define WORKER_FAIL(worker, format, ...) \
    test_fail("random_program: thread %u step %zu: " format, (worker)->number, (worker)->step, __VA_ARGS__)

static size_t random_size(struct worker *worker) {
    switch (worker->size_kind) {
    case SIZE_ONE:
        return worker->one_size;
    case SIZE_SMALL:
        return test_below(&worker->random, 1025);
    case SIZE_MIXED:
        return test_size(&worker->random, 16);
    default:
        return test_size(&worker->random, test_below(&worker->random, 64) == 0 ? 23 : 20);
    }
}

static void new_phase(struct worker *worker) {
    static const unsigned shares[] = {20, 50, 80};
    worker->free_share = shares[test_below(&worker->random, sizeof shares / sizeof shares[0])];
    worker->size_kind = (unsigned)test_below(&worker->random, SIZE_KINDS);
    worker->one_size = test_size(&worker->random, 15);
}

/* A request that was refused must say ENOMEM; a few refusals are the machine's, many are the allocator's. */
static void refused(struct worker *worker, const char *call, size_t size) {
    if (errno != ENOMEM)
        WORKER_FAIL(worker, "%s of %zu bytes gave NULL with errno %d", call, size, errno);
    worker->refusals++;
    if (worker->refusals > 64 && worker->refusals > worker->requests / 8)
        WORKER_FAIL(worker, "%zu of %zu requests refused (the last: %s of %zu bytes)", worker->refusals,
                    worker->requests, call, size);
}

static void enter(struct worker *worker, struct block *block, const char *call, size_t alignment) {
    uintptr_t at = (uintptr_t)block->at;
    if (at % alignment != 0)
        WORKER_FAIL(worker, "%s of %zu bytes at %p is not aligned to %zu", call, block->size,
                    (void *)block->at, alignment);
    block->usable = tested_usable_size(block->at);
    if (block->usable < block->size)
        WORKER_FAIL(worker, "%s of %zu bytes at %p has only %zu usable bytes", call, block->size,
                    (void *)block->at, block->usable);
    uintptr_t other_at;
    size_t other_bytes;
    size_t bytes = block->usable > 0 ? block->usable : 1;
    if (!shadow_enter(at, bytes, &other_at, &other_bytes))
        WORKER_FAIL(worker, "%s of %zu bytes at %p overlaps the live block %p of %zu bytes", call,
                    block->size, (void *)block->at, (void *)other_at, other_bytes);
    block->id = worker->next_id++;
    pattern_fill(block->at, block->usable, block->id);
}

static void check_content(struct worker *worker, const struct block *block, size_t limit, const char *when) {
    size_t wrong = pattern_wrong(block->at, block->usable, limit, block->id);
    if (wrong != SIZE_MAX)
        WORKER_FAIL(worker, "%s: the block %p of %zu bytes (usable %zu) has lost its content at offset %zu",
                    when, (const void *)block->at, block->size, block->usable, wrong);
}

static void check_zeros(struct worker *worker, const struct block *block) {
    for (size_t offset = 0; offset < block->size; offset++)
        if (block->at[offset] != 0)
            WORKER_FAIL(worker, "calloc of %zu bytes at %p is not zero at offset %zu", block->size,
                        (const void *)block->at, offset);
}

static void leave(struct worker *worker, const struct block *block, const char *when) {
    check_content(worker, block, block->usable, when);
    size_t usable = tested_usable_size(block->at);
    if (usable != block->usable)
        WORKER_FAIL(worker, "%s: the usable size of %p was %zu and is %zu", when, (const void *)block->at,
                    block->usable, usable);
    if (!shadow_remove((uintptr_t)block->at))
        WORKER_FAIL(worker, "%s: the block %p is not in the shadow heap", when, (const void *)block->at);
}

static void *call_aligned(struct worker *worker, size_t size, size_t alignment) {
    void *at = NULL;
    switch (test_below(&worker->random, 3)) {
    case 0: {
        int result =
            tested_posix_memalign(&at, alignment < sizeof(void *) ? sizeof(void *) : alignment, size);
        if (result != 0) {
            errno = result;
            return NULL;
        }
        return at;
    }
    case 1:
        return tested_aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1));
    default:
        return tested_memalign(alignment, size);
    }
}

static void fill_slot(struct worker *worker, struct block *block) {
    size_t size = random_size(worker);
    size_t alignment = 16;
    size_t choice = test_below(&worker->random, 100);
    const char *call = "malloc";
    errno = 0;
    if (choice < 55) {
        block->at = tested_malloc(size);
    } else if (choice < 75) {
        call = "calloc";
        size_t count = 1 + test_below(&worker->random, 8);
        size = size / count * count;
        block->at = tested_calloc(count, size / count);
    } else if (choice < 95) {
        call = "aligned";
        alignment = (size_t)1 << test_below(&worker->random, worker->size_kind == SIZE_LARGE ? 22 : 13);
        block->at = call_aligned(worker, size, alignment);
    } else {
        call = "realloc(NULL)";
        block->at = tested_realloc(NULL, size);
    }
    worker->requests++;
    block->size = size;
    if (block->at == NULL) {
        refused(worker, call, size);
        return;
    }
    if (call[0] == 'c')
        check_zeros(worker, block);
    enter(worker, block, call, alignment);
}

static void free_block(struct worker *worker, struct block *block) {
    leave(worker, block, "before free");
    errno = 4711;
    tested_free(block->at);
    if (errno != 4711)
        WORKER_FAIL(worker, "free of %p set errno to %d", (void *)block->at, errno);
    block->at = NULL;
}

static void reallocate(struct worker *worker, struct block *block) {
    size_t size = random_size(worker);
    struct block old = *block;
    leave(worker, block, "before realloc");
    errno = 0;
    unsigned char *at = tested_realloc(block->at, size);
    if (size == 0) {
        if (at != NULL)
            WORKER_FAIL(worker, "realloc(%p, 0) gave %p", (void *)old.at, (void *)at);
        block->at = NULL;
        return;
    }
    worker->requests++;
    uintptr_t other_at;
    size_t other_bytes;
    if (at == NULL) {
        refused(worker, "realloc", size);
        if (!shadow_enter((uintptr_t)old.at, old.usable, &other_at, &other_bytes))
            WORKER_FAIL(worker, "realloc of %p to %zu bytes failed and the old block is gone", (void *)old.at,
                        size);
        return;
    }
    block->at = at;
    check_content(worker, block, old.size < size ? old.size : size, "after realloc");
    block->size = size;
    enter(worker, block, "realloc", 16);
}

static void hand_over(struct worker *worker, struct block **slot) {
    size_t place = test_below(&worker->random, TABLE);
    *slot = atomic_exchange_explicit(&table[place], *slot, memory_order_acq_rel);
}

/* Requests that no machine can grant; volatile, so that the compiler does not judge them first. */
static void impossible(struct worker *worker) {
    static volatile size_t most = SIZE_MAX;
    size_t size = most - test_below(&worker->random, (size_t)1 << (1 + test_below(&worker->random, 62)));
    errno = 0;
    if (tested_malloc(size) != NULL || errno != ENOMEM)
        WORKER_FAIL(worker, "malloc of %zu bytes was not refused with ENOMEM (errno %d)", size, errno);
    errno = 0;
    if (tested_calloc(most / 4 + 2, 4) != NULL || errno != ENOMEM)
        WORKER_FAIL(worker, "calloc(SIZE_MAX / 4 + 2, %d) was not refused with ENOMEM (errno %d)", 4, errno);
}

static void one_step(struct worker *worker) {
    struct block **slot = &worker->slots[test_below(&worker->random, SLOTS)];
    if ((*slot)->at == NULL) {
        fill_slot(worker, *slot);
        return;
    }
    size_t choice = test_below(&worker->random, 100);
    if (choice < worker->free_share)
        free_block(worker, *slot);
    else if (choice < worker->free_share + 10)
        reallocate(worker, *slot);
    else if (choice < worker->free_share + 20)
        hand_over(worker, slot);
    else if (test_below(&worker->random, 8) == 0)
        check_content(worker, *slot, (*slot)->usable, "looked at");
}

static void *run_worker(void *argument) {
    struct worker *worker = argument;
    for (worker->step = 0; worker->step < worker->steps; worker->step++) {
        if (worker->step % PHASE_STEPS == 0)
            new_phase(worker);
        if (worker->step % 1024 == 1023)
            impossible(worker);
        one_step(worker);
    }
    return NULL;
}

static void start_worker(struct worker *worker, unsigned number, uint64_t seed, size_t steps) {
    memset(worker, 0, sizeof *worker);
    worker->number = number;
    worker->steps = steps;
    worker->random.state = test_mix(seed) + number;
    worker->next_id = (uint64_t)number << 48;
    for (size_t i = 0; i < SLOTS; i++)
        worker->slots[i] = &worker->blocks[i];
}

static void free_everything(struct worker *worker, size_t threads) {
    for (size_t i = 0; i < TABLE; i++)
        if (atomic_load(&table[i])->at != NULL)
            free_block(worker, atomic_load(&table[i]));
    for (size_t t = 0; t < threads; t++)
        for (size_t i = 0; i < SLOTS; i++)
            if (workers[t].slots[i]->at != NULL)
                free_block(worker, workers[t].slots[i]);
    if (shadow_live() != 0)
        WORKER_FAIL(worker, "%zu blocks are left in the shadow heap", shadow_live());
}

static void run_round(uint64_t seed, size_t threads, size_t steps) {
    pthread_t ids[THREADS_MOST];
    memset(table_blocks, 0, sizeof table_blocks);
    for (size_t i = 0; i < TABLE; i++)
        atomic_store(&table[i], &table_blocks[i]);
    for (size_t t = 0; t < threads; t++)
        start_worker(&workers[t], (unsigned)t, seed, steps);
    if (threads == 1) {
        run_worker(&workers[0]);
    } else {
        for (size_t t = 0; t < threads; t++)
            if (pthread_create(&ids[t], NULL, run_worker, &workers[t]) != 0)
                test_fail("random_program: cannot create thread %zu", t);
        for (size_t t = 0; t < threads; t++)
            pthread_join(ids[t], NULL);
    }
    free_everything(&workers[0], threads);
}

int main(int argc, char **argv) {
    size_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    size_t steps = argc > 2 ? strtoul(argv[2], NULL, 10) : 100000;
    size_t rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 3;
    if (threads < 1 || threads > THREADS_MOST)
        test_fail("random_program: 1 to %d threads", THREADS_MOST);
    if (!tested_is_in_place())
        test_fail("random_program: malloc is not that of TESTED_LIB");
    uint64_t seed = test_seed(1);
    for (size_t round = 0; round < rounds; round++) {
        test_seed_used = seed + round;
        run_round(test_seed_used, threads, steps);
    }
    return 0;
}
