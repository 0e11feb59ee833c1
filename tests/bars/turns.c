/*
 * turns: does memory stay near what is live when many threads share few CPUs, and each frees what others have allocated?
 *
 * So work in servers that hand tasks from thread to thread. While a thread waits for its turn the others free nearly all of its blocks,
 * and in its turn it needs as many anew: a heap that takes back all of its own, and gives away all of others', grows to what its
 * thread allocates in one turn, and all heaps together to that many times the threads.
 *
 * Here turns are laid down, so that no scheduler decides: one thread after the other replaces random blocks of a table of 40,000, in each
 * turn a quarter as many as there are. All on one CPU, of which the library is to know: with as many CPUs as threads it is another
 * program. Resident memory beyond the start, when it is largest at the end of a turn, may be at most 3, 4.5 and 8.5 times the live
 * bytes with 4, 16 and 64 threads: what the main thread filled the table with, what a turn takes, and what each thread has at hand.
 */
#include "../one_cpu.h"
#include "bars.h"

enum { PLACES = 40000, REPLACED = PLACES / 4, ROUNDS = 6, MOST_THREADS = 64 };

static void *places[PLACES];
static unsigned sizes[PLACES];
static long live_bytes, most_kib, start_kib;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned turn, threads, random;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .random = 1};

static void replace(unsigned slot) {
    live_bytes -= (long)sizes[slot];
    free(places[slot]);
    unsigned most = next_random(&table.random) % 10 > 0 ? 500 : 4000;
    sizes[slot] = 16 + next_random(&table.random) % most;
    places[slot] = taken(sizes[slot]);
    live_bytes += (long)sizes[slot];
}

static void *take_turns(void *argument) {
    unsigned number = (unsigned)(uintptr_t)argument;

    CHECK(pthread_mutex_lock(&table.lock) == 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        while (table.turn % table.threads != number)
            CHECK(pthread_cond_wait(&table.changed, &table.lock) == 0);
        for (unsigned i = 0; i < REPLACED; i++)
            replace(next_random(&table.random) % PLACES);
        long kib = rss_kib() - start_kib;
        most_kib = kib > most_kib ? kib : most_kib;
        table.turn++;
        CHECK(pthread_cond_broadcast(&table.changed) == 0);
    }
    CHECK(pthread_mutex_unlock(&table.lock) == 0);
    return NULL;
}

static int measure(int which) {
    static const struct {
        unsigned threads;
        long percent;
    } all[] = {{4, 300}, {16, 450}, {MOST_THREADS, 850}};
    pthread_t ids[MOST_THREADS];

    table.threads = all[which].threads;
    start_kib = rss_kib();
    for (unsigned i = 0; i < PLACES; i++)
        replace(i);
    for (unsigned i = 0; i < table.threads; i++)
        CHECK(pthread_create(&ids[i], NULL, take_turns, (void *)(uintptr_t)i) == 0);
    for (unsigned i = 0; i < table.threads; i++)
        CHECK(pthread_join(ids[i], NULL) == 0);
    long percent = most_kib * 1024 * 100 / live_bytes;
    printf("%2u threads: %ld KiB resident for %ld live, %ld %%\n", table.threads, most_kib, live_bytes / 1024,
           percent);
    BAR(percent <= all[which].percent, "%u threads: %ld %% of the live bytes are resident, %ld may be",
        table.threads, percent, all[which].percent);
    return bars_result();
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK(stay_on_one_cpu());
    return bars_each_apart(measure, 3);
}
