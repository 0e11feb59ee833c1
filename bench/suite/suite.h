// What the programs of the suite have in common: settings, threads, the clock, the line at the end.
//
// A program defines one `suite`: its defaults and the function that each thread runs. suite.c owns main(): it reads
// `PROGRAM [ITERS [WS [SEED]]]` and BENCH_THREADS, starts the threads at one barrier, times them until the last one
// is done, and prints the contract's line; BENCH_RSS=1 adds the peak RSS. Bad arguments end with status 2.
//
// Promises: the work is fixed by the arguments (never by time), so that two allocators do the same; the threads'
// random numbers follow from SEED alone; nothing here allocates with malloc, except what pthread_create does.
// The header is also C++.
#ifndef HAKMEM_BENCH_SUITE_H
#define HAKMEM_BENCH_SUITE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct suite_settings {
    uint64_t iterations;
    size_t working_set; // what the program says it is: live blocks, bytes, depth ...
    uint64_t seed;
    unsigned threads;
};

struct suite_thread {
    const struct suite_settings *settings;
    unsigned index;
    uint64_t share;  // this thread's part of the iterations
    uint64_t random; // state of random_next
};

struct suite {
    struct suite_settings defaults;
    size_t most;                                          // largest working set
    void (*begin)(const struct suite_settings *settings); // before the clock starts; may be NULL
    uint64_t (*run)(struct suite_thread *thread);         // in each thread; returns the operations it did
    void (*end)(const struct suite_settings *settings);   // after the clock has stopped; may be NULL
};

extern const struct suite suite;

// Ends the program with a message and status 1; for what must not happen (no memory, no thread).
#ifdef __cplusplus
[[noreturn]]
#else
_Noreturn
#endif
void suite_fail(const char *message);

// pthread_create and pthread_join that cannot fail.
pthread_t suite_start(void *(*function)(void *), void *argument);
void suite_join(pthread_t thread);

#ifdef __cplusplus
}
#endif
#endif
