/*
 * hand_over: does memory stay bounded when every block is freed by another thread than took it?
 *
 * A producer takes blocks and puts them in a queue that holds 8 MiB of them, a consumer frees them; 32 to 300 times
 * the whole queue goes through. Who waits for whom is laid down, so that no clock decides:
 *   producer slower     the producer waits until the queue is empty before it takes the next batch
 *   consumer slower     the consumer waits until the queue is full before it frees the next batch
 *   consumer asleep     the consumer waits until the queue is full, then frees all of it and sleeps again
 *   producer asleep     the producer fills the queue and waits until the consumer has freed all, then starts again
 *   class after class   the same, with blocks of another size in each round
 *   both at full speed  who waits is left to the scheduler, and so are the live bytes
 *
 * Resident memory beyond the start may be at most a multiple of the live bytes (1.25, 1.5 and 2 times, the more the
 * larger the blocks and the more classes they are of), and 2 or 6 MiB for what two heaps keep at hand. Where
 * chance decides how many bytes are live, they may be few more than some whole huge pages: one is allowed then where
 * the multiple is less. And after half of the rounds it must not grow any more (by one huge page and a twentieth at
 * most, in as many rounds again; not at full speed, where the live bytes may). HAND_OVER_TIMES=25: so many times the
 * rounds.
 */
#include "bars.h"

enum {
    QUEUE_BYTES = 8 << 20,
    BATCH = 64,
    BATCH_BYTES = 64 << 10,
    PAGE = 4096,
    PLACES = QUEUE_BYTES / 16,
    HUGE_PAGE_KIB = 2 << 10
};

enum pace {
    PRODUCER_SLOWER,
    CONSUMER_SLOWER,
    CONSUMER_ASLEEP,
    PRODUCER_ASLEEP,
    CLASS_AFTER_CLASS,
    FULL_SPEED,
    PACES
};

static const char *const pace_names[PACES] = {"producer slower", "consumer slower",   "consumer asleep",
                                              "producer asleep", "class after class", "both at full speed"};

struct sizes {
    const char *name;
    unsigned least, most;
    long percent,
        at_hand_kib; /* resident memory: at most a share of the live bytes, and what two heaps keep at hand */
    unsigned rounds; /* the whole queue goes through as often; settled after half of it */
};

static const struct sizes all_sizes[] = {{"64", 64, 64, 125, 2048, 64},
                                         {"16..1024", 16, 1024, 150, 2048, 32},
                                         {"1000..32000", 1000, 32000, 200, 6144, 300}};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void *slots[PLACES];
    size_t head, tail;  /* blocks ever put in, and ever taken out */
    size_t drain_until; /* what a consumer that has slept takes out: beyond tail while it does */
    size_t bytes;       /* in the queue */
    bool closed;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static enum pace pace;
static const struct sizes *sizes;
static unsigned rounds;
static long base_kib, settled_kib, most_kib;
static size_t live, most_live;
static unsigned state = 1;

/* The size is written at the start of the block, for the consumer. */
static void *new_block(unsigned round) {
    unsigned size = sizes->least + next_random(&state) % (sizes->most - sizes->least + 1);
    if (pace == CLASS_AFTER_CLASS)
        size = sizes->least * (round % 8 + 1);
    unsigned *block = taken(size);
    for (size_t at = PAGE; at < size; at += PAGE)
        block[at / sizeof *block] = size;
    *block = size;
    size_t now = __atomic_add_fetch(&live, size, __ATOMIC_RELAXED);
    if (now > most_live)
        most_live = now;
    return block;
}

static void free_block(void *block) {
    __atomic_fetch_sub(&live, *(unsigned *)block, __ATOMIC_RELAXED);
    free(block);
}

static bool producer_waits(void) {
    if (queue.bytes >= QUEUE_BYTES)
        return true;
    if (pace == PRODUCER_SLOWER)
        return queue.head != queue.tail;
    return pace != FULL_SPEED && pace >= PRODUCER_ASLEEP && queue.drain_until != 0;
}

static void put(void **blocks, unsigned count) {
    pthread_mutex_lock(&queue.lock);
    while (producer_waits())
        pthread_cond_wait(&queue.changed, &queue.lock);
    for (unsigned i = 0; i < count; i++) {
        queue.slots[queue.head++ % PLACES] = blocks[i];
        queue.bytes += *(unsigned *)blocks[i];
    }
    if (queue.bytes >= QUEUE_BYTES && queue.drain_until == 0)
        queue.drain_until = queue.head;
    pthread_cond_signal(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

static bool consumer_waits(void) {
    if (queue.closed)
        return false;
    if (pace == PRODUCER_SLOWER || pace == FULL_SPEED)
        return queue.head == queue.tail;
    return pace == CONSUMER_SLOWER ? queue.bytes < QUEUE_BYTES : queue.drain_until == 0;
}

/* The next blocks to be freed; 0 when there will be none any more. What was got before is free by now. */
static unsigned get(void **blocks) {
    unsigned count = 0;

    pthread_mutex_lock(&queue.lock);
    if (queue.tail >= queue.drain_until)
        queue.drain_until = queue.bytes >= QUEUE_BYTES ? queue.head : 0; /* it may be full again */
    pthread_cond_signal(&queue.changed);
    while (consumer_waits())
        pthread_cond_wait(&queue.changed, &queue.lock);
    for (size_t bytes = 0; count < BATCH && bytes < BATCH_BYTES && queue.tail != queue.head;) {
        blocks[count] = queue.slots[queue.tail++ % PLACES];
        bytes += *(unsigned *)blocks[count++];
        queue.bytes -= *(unsigned *)blocks[count - 1];
    }
    pthread_mutex_unlock(&queue.lock);
    return count;
}

static void *consume(void *argument) {
    void *blocks[BATCH];

    for (unsigned count; (count = get(blocks)) != 0;)
        for (unsigned i = 0; i < count; i++)
            free_block(blocks[i]);
    return argument;
}

static void note_resident(unsigned round) {
    long now = rss_kib() - base_kib;

    if (round < rounds / 2 && now > settled_kib)
        settled_kib = now;
    if (now > most_kib)
        most_kib = now;
}

static void *produce(void *argument) {
    void *blocks[BATCH];

    for (unsigned round = 0; round < rounds; round++) {
        for (size_t bytes = 0, batches = 0; bytes < QUEUE_BYTES; batches++) {
            unsigned count = 0;
            for (size_t most = bytes + BATCH_BYTES; count < BATCH && bytes < most; count++) {
                blocks[count] = new_block(round);
                bytes += *(unsigned *)blocks[count];
            }
            put(blocks, count);
            if (batches % 256 == 0)
                note_resident(round);
        }
        note_resident(round);
    }
    pthread_mutex_lock(&queue.lock);
    queue.closed = true;
    pthread_cond_signal(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    return argument;
}

static long most_allowed_kib(long most_live_kib) {
    long beyond = most_live_kib * (sizes->percent - 100) / 100;

    if (pace == FULL_SPEED && beyond < HUGE_PAGE_KIB)
        beyond = HUGE_PAGE_KIB;
    return most_live_kib + beyond + sizes->at_hand_kib;
}

static int measure(int which) {
    char what[60];

    pace = (enum pace)(which % PACES);
    sizes = &all_sizes[which / PACES];
    setvbuf(stdout, NULL, _IOLBF, 4096);
    size_t times = amount("HAND_OVER_TIMES", 1);
    rounds = sizes->rounds * (unsigned)times;
    alarm(CHILD_SECONDS * (unsigned)times);
    memset(queue.slots, 1, sizeof queue.slots);
    base_kib = rss_kib();
    pthread_t producer = start_thread(produce, NULL), consumer = start_thread(consume, NULL);
    join_thread(producer);
    join_thread(consumer);
    long most_live_kib = (long)(most_live >> 10);
    snprintf(what, sizeof what, "%s, %s", pace_names[pace], sizes->name);
    printf("%-30s live %5ld KiB, resident at most %5ld KiB, %5ld in the first %u rounds\n", what,
           most_live_kib, most_kib, settled_kib, rounds / 2);
    BAR(most_kib <= most_allowed_kib(most_live_kib), "%s: %ld KiB resident for %ld live", what, most_kib,
        most_live_kib);
    BAR(pace == FULL_SPEED || most_kib <= settled_kib + settled_kib / 20 + HUGE_PAGE_KIB,
        "%s: grew from %ld to %ld KiB", what, settled_kib, most_kib);
    return bars_result();
}

int main(void) {
    return bars_each_apart(measure, PACES * (int)(sizeof all_sizes / sizeof all_sizes[0]));
}
