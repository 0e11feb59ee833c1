// The mixed benchmark driver: words shared by its parts.
//
// What it owns: the settings of a run (settings.c), one worker's state (a thread's share of a run), the list of
// workloads (workloads.def) and the lines that are printed (report.c).
//
// Promises: every allocator runs the same machine code of the driver, with the same random numbers, so that a
// difference between two runs is the allocator's; the driver's own memory comes from mmap and its output goes
// through write(), so that nothing but the workload reaches the allocator; BENCH_EMPTY=1 runs the same loops
// with the calls taken out, which prices the driver itself.
//
// It never reads the clock inside a measured loop, and never calls the allocator's own interface.
#ifndef HAKMEM_BENCH_DRIVER_H
#define HAKMEM_BENCH_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MIXED_SMALLEST = 16, MIXED_LARGEST = 1024 }; // bytes of a block of the mixed workload

struct worker;

// Runs so many steps of a workload on the worker's slots; a step is one call of the allocator.
typedef void workload_steps(struct worker *worker, uint64_t steps);

struct workload {
    const char *name;
    workload_steps *steps;
    size_t smallest; // bytes of a block, both ends included
    size_t largest;
    const char *sentence;
};

struct settings {
    uint64_t iterations;
    size_t working_set; // slots of each worker
    uint64_t seed;
    const struct workload *workload;
    uint64_t epoch_iterations; // 0: one run without epochs
    unsigned threads;
    bool empty;       // the same loop without the allocator
    bool report_peak; // the [RSS] line at the end
    bool gated;       // an epoch begins when a byte arrives on standard input; the run ends where that ends
};

// One thread's share of a run. Slots hold NULL or a live block; marks is a second word for each slot.
struct worker {
    _Alignas(64) const struct settings *settings; // two workers never share a cache line
    void **slots;
    size_t *marks;
    uint64_t random;
    size_t position; // where a workload that goes round its slots stands
    bool releasing;  // what such a workload does there
};

// Reads the command line and the environment; on bad input says what is wrong and returns false.
bool settings_read(struct settings *settings, int argc, char **argv);

const struct workload *workload_find(const char *name);
void workload_list(void);

// Zeroed memory that does not come from the allocator under test; ends the program when there is none.
void *driver_memory(size_t bytes);

void worker_begin(struct worker *worker, const struct settings *settings, unsigned index);
void worker_end(struct worker *worker);

double report_seconds(void);
void report_throughput(const struct settings *settings, uint64_t iterations, double seconds);
// Formats an epoch's line for nobody, before the first epoch: what that brings in of the C library (0.2 MB) would
// otherwise be missing in the first epoch's RSS alone, and read as growth.
void report_ready(const struct settings *settings);
void report_epoch(const struct settings *settings, uint64_t epoch, uint64_t iterations, double seconds);
unsigned long report_peak_kb(void);
void report_peak(void);

#define WORKLOAD(name, steps, smallest, largest, sentence) workload_steps steps;
#include "workloads.def"
#undef WORKLOAD

#endif
