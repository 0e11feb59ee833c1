// The command line and the environment of a run, checked.
#define _GNU_SOURCE
#include "driver.h"
#include "numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 1024 };

static const struct workload workloads[] = {
#define WORKLOAD(name, steps, smallest, largest, sentence) {#name, steps, smallest, largest, sentence},
#include "workloads.def"
#undef WORKLOAD
};

enum { WORKLOADS = sizeof workloads / sizeof *workloads };

const struct workload *workload_find(const char *name) {
    for (size_t i = 0; i < WORKLOADS; i++)
        if (strcmp(workloads[i].name, name) == 0)
            return &workloads[i];
    return NULL;
}

void workload_list(void) {
    for (size_t i = 0; i < WORKLOADS; i++)
        fprintf(stderr, "  %-18s %s\n", workloads[i].name, workloads[i].sentence);
}

static bool environment_read(struct settings *settings) {
    uint64_t threads = 1, empty = 0, rss = 0, gate = 0;
    if (!number_environment("HAKMEM_BENCH_EPOCH_ITERS", 0, UINT64_MAX / 2, &settings->epoch_iterations) ||
        !number_environment("BENCH_THREADS", 1, MOST_THREADS, &threads) ||
        !number_environment("BENCH_EMPTY", 0, 1, &empty) || !number_environment("BENCH_RSS", 0, 1, &rss) ||
        !number_environment("BENCH_GATE", 0, 1, &gate))
        return false;
    settings->threads = (unsigned)threads;
    settings->empty = empty;
    settings->report_peak = rss;
    settings->gated = gate;

    const char *name = getenv("BENCH_WORKLOAD");
    settings->workload = workload_find(name && *name ? name : "mixed");
    if (!settings->workload) {
        fprintf(stderr, "bench: BENCH_WORKLOAD is not one of these: '%s'\n", name);
        workload_list();
        return false;
    }
    return true;
}

static void usage(const char *program) {
    fprintf(stderr,
            "usage: %s [ITERS [WS [SEED]]]      (defaults 20000000 400 1)\n"
            "environment: HAKMEM_BENCH_EPOCH_ITERS=N BENCH_THREADS=N BENCH_EMPTY=1 BENCH_RSS=1 "
            "BENCH_GATE=1 BENCH_WORKLOAD=...\n",
            program);
    workload_list();
}

bool settings_read(struct settings *settings, int argc, char **argv) {
    uint64_t working_set = 400;
    *settings = (struct settings){.iterations = 20000000, .seed = 1};
    if (argc > 4 || (argc > 1 && argv[1][0] == '-')) {
        usage(argv[0]);
        return false;
    }
    if ((argc > 1 && !number_read("ITERS", argv[1], 1, UINT64_MAX / 2, &settings->iterations)) ||
        (argc > 2 && !number_read("WS", argv[2], 1, 1u << 30, &working_set)) ||
        (argc > 3 && !number_read("SEED", argv[3], 0, UINT64_MAX, &settings->seed)))
        return false;
    settings->working_set = working_set;
    return environment_read(settings);
}
