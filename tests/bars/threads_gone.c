/*
 * threads_gone: does a process grow by threads that come and go?
 *
 * 100,000 threads (BARS_THREADS: another number), eight at a time, which are all there at once. Each frees the blocks
 * that another left behind, takes and frees 64 blocks of mixed sizes, and leaves two live. After a tenth and at half of
 * the run resident memory, the library's own records and the address space of its heap are noted. Which classes meet in
 * eight threads is random, so that each doubling of the run meets a new worst, 0.3 MiB on: from a tenth on 1.5 MiB may be
 * added, in the second half 512 KiB. That is 10 bytes a thread, where a heap that is not used again costs many KiB. There
 * are never more heaps than threads at once, by the library's own count (HAKMEM_STATS), and its records grow only by
 * magazines of classes that a heap meets for the first time. Eight heaps with a slab of each class fill the first 16 MiB
 * of addresses almost to the end, so that a worst meeting may bring the next step, which is half of what is mapped; more
 * than one such step is a leak.
 */
#include "bars.h"

enum { AT_ONCE = 8, OWN = 64, LEFT = 2, GROWTH_KIB = 1536, LATE_GROWTH_KIB = 512, RECORDS_KIB = 32 };

static void *left_behind[AT_ONCE][LEFT];
static pthread_barrier_t all_here;

static void *live_and_die(void *argument) {
    unsigned number = (unsigned)(uintptr_t)argument, state = number * 2654435761u | 1;
    void *own[OWN], **left = left_behind[number % AT_ONCE];

    for (int i = 0; i < LEFT; i++)
        free(left[i]);
    for (int i = 0; i < OWN; i++)
        own[i] = taken(next_random(&state) % 2000 + 1);
    pthread_barrier_wait(&all_here);
    for (int i = 0; i < OWN; i++)
        free(own[i]);
    for (int i = 0; i < LEFT; i++)
        left[i] = taken(next_random(&state) % 2000 + 1);
    return NULL;
}

struct size {
    long resident_kib;
    struct hakmem_statistics heap;
};

static struct size size_now(void) {
    struct size size = {.resident_kib = rss_kib()};

    ask_library(&size.heap);
    return size;
}

static void run_batch(uintptr_t number) {
    pthread_t threads[AT_ONCE];
    void *first = left_behind[0][0];

    /* Blocks change hands between the places, too. */
    for (int i = 1; i < AT_ONCE; i++)
        left_behind[i - 1][0] = left_behind[i][0];
    left_behind[AT_ONCE - 1][0] = first;
    for (uintptr_t i = 0; i < AT_ONCE; i++)
        threads[i] = start_thread(live_and_die, (void *)(number + i));
    for (int i = 0; i < AT_ONCE; i++)
        join_thread(threads[i]);
}

static int worker(void) {
    size_t threads_most = amount("BARS_THREADS", 100000) / (2 * AT_ONCE) * (2 * AT_ONCE);
    size_t warm_up = threads_most / 10 / AT_ONCE * AT_ONCE;
    struct size early = size_now(), half = early;

    pthread_barrier_init(&all_here, NULL, AT_ONCE);
    for (uintptr_t number = 0; number < threads_most; number += AT_ONCE) {
        if (number == warm_up)
            early = size_now();
        if (number == threads_most / 2)
            half = size_now();
        run_batch(number);
    }
    struct size end = size_now();
    printf("%zu threads: resident %ld KiB after %zu, %ld after half of them, %ld at the end\n", threads_most,
           early.resident_kib, warm_up, half.resident_kib, end.resident_kib);
    printf("records %llu and %llu KiB, mapped %llu and %llu KiB\n",
           (unsigned long long)early.heap.metadata_bytes >> 10,
           (unsigned long long)end.heap.metadata_bytes >> 10,
           (unsigned long long)early.heap.mapped_bytes >> 10,
           (unsigned long long)end.heap.mapped_bytes >> 10);
    BAR(end.resident_kib <= early.resident_kib + GROWTH_KIB, "resident memory grew from %ld to %ld KiB",
        early.resident_kib, end.resident_kib);
    BAR(end.resident_kib <= half.resident_kib + LATE_GROWTH_KIB,
        "in the second half it grew from %ld to %ld KiB", half.resident_kib, end.resident_kib);
    BAR(end.heap.metadata_bytes <= early.heap.metadata_bytes + (RECORDS_KIB << 10), "the records grew");
    BAR(end.heap.mapped_bytes <= early.heap.mapped_bytes / 2 * 3,
        "the heap's address space grew by more than a step");
    return bars_result();
}

int main(int argc, char **argv) {
    static const char *const env[] = {"HAKMEM_STATS=1", NULL};
    static struct ran ran;
    static char word[] = "worker";

    if (is_worker(argc, argv))
        return worker();
    run(&ran, (char *[]){self_path(), word, NULL}, env, NULL);
    fputs(ran.text, stdout);
    if (ran.status == SKIPPED)
        return SKIPPED;
    BAR(ran.status == 0, "the run ended with status %d", ran.status);
    const char *heaps = strstr(ran.text, "; heaps ");
    BAR(heaps == NULL || strtol(heaps + strlen("; heaps "), NULL, 10) <= AT_ONCE + 1,
        "more heaps than threads at once");
    return bars_result();
}
