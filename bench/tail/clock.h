// The clock of single calls: the processor's counter, read so that the timed call can neither begin before the first
// reading nor end after the second.
//
// x86-64: rdtscp waits until every earlier instruction has executed; the lfence behind it keeps later ones from
// starting before it (Intel, "How to Benchmark Code Execution Times", 2010). AArch64: isb, then the virtual counter,
// which ticks every 1 to 40 ns depending on the machine. Elsewhere CLOCK_MONOTONIC in nanoseconds.
// A reading has a cost, and a pair of readings with nothing between them shows it: tail_mixed measures such pairs
// beside the calls. Ticks become nanoseconds by comparison with CLOCK_MONOTONIC over the whole run.
#ifndef HAKMEM_BENCH_TAIL_CLOCK_H
#define HAKMEM_BENCH_TAIL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)
#define CLOCK_NAME "rdtscp"
static inline uint64_t clock_ticks(void) {
    uint32_t low, high, cpu;
    __asm__ volatile("rdtscp\n\tlfence" : "=a"(low), "=d"(high), "=c"(cpu)::"memory");
    return (uint64_t)high << 32 | low;
}
#elif defined(__aarch64__)
#define CLOCK_NAME "cntvct_el0"
static inline uint64_t clock_ticks(void) {
    uint64_t ticks;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks)::"memory");
    return ticks;
}
#else
#define CLOCK_NAME "clock_gettime"
static inline uint64_t clock_ticks(void) {
    return clock_ns();
}
#endif

#endif
