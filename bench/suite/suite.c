// main() of every program of the suite; see suite.h.
#define _GNU_SOURCE
#include "suite.h"

#include "../driver.h"
#include "../numbers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 256 };

struct runner {
    struct suite_thread thread;
    pthread_barrier_t *start, *finish;
    uint64_t operations;
    pthread_t handle;
};

void suite_fail(const char *message) {
    fprintf(stderr, "bench: %s\n", message);
    exit(1);
}

pthread_t suite_start(void *(*function)(void *), void *argument) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, argument) != 0)
        suite_fail("no new thread");
    return thread;
}

void suite_join(pthread_t thread) {
    pthread_join(thread, NULL);
}

static int usage(const char *program) {
    fprintf(stderr,
            "usage: %s [ITERS [WS [SEED]]]      (defaults %llu %zu %llu)\n"
            "environment: BENCH_THREADS=N (default %u) BENCH_RSS=1\n",
            program, (unsigned long long)suite.defaults.iterations, suite.defaults.working_set,
            (unsigned long long)suite.defaults.seed, suite.defaults.threads);
    return 2;
}

static bool read_settings(struct suite_settings *settings, bool *peak, int argc, char **argv) {
    uint64_t working_set = suite.defaults.working_set, threads = suite.defaults.threads, rss = 0;
    *settings = suite.defaults;
    if ((argc > 1 && !number_read("ITERS", argv[1], 1, UINT64_MAX / 2, &settings->iterations)) ||
        (argc > 2 && !number_read("WS", argv[2], 1, suite.most, &working_set)) ||
        (argc > 3 && !number_read("SEED", argv[3], 0, UINT64_MAX, &settings->seed)) ||
        !number_environment("BENCH_THREADS", 1, MOST_THREADS, &threads) ||
        !number_environment("BENCH_RSS", 0, 1, &rss))
        return false;
    settings->working_set = working_set;
    settings->threads = (unsigned)threads;
    *peak = rss;
    return true;
}

static void *runner_run(void *argument) {
    struct runner *runner = argument;
    pthread_barrier_wait(runner->start);
    runner->operations = suite.run(&runner->thread);
    pthread_barrier_wait(runner->finish);
    return NULL;
}

static void runner_begin(struct runner *runner, const struct suite_settings *settings, unsigned index) {
    uint64_t random = (settings->seed + index + 1) * 0x9e3779b97f4a7c15u;
    runner->thread = (struct suite_thread){
        .settings = settings,
        .index = index,
        .share =
            settings->iterations / settings->threads + (index < settings->iterations % settings->threads),
        .random = random ? random : 1,
    };
}

// Runs all threads (this one is the first); sets *operations and returns seconds.
static double threads_run(const struct suite_settings *settings, uint64_t *operations) {
    pthread_barrier_t start, finish;
    struct runner *runners = driver_memory(settings->threads * sizeof *runners);
    pthread_barrier_init(&start, NULL, settings->threads);
    pthread_barrier_init(&finish, NULL, settings->threads);
    for (unsigned i = 0; i < settings->threads; i++) {
        runner_begin(&runners[i], settings, i);
        runners[i].start = &start;
        runners[i].finish = &finish;
        if (i > 0)
            runners[i].handle = suite_start(runner_run, &runners[i]);
    }
    double begin = report_seconds();
    runner_run(&runners[0]);
    double seconds = report_seconds() - begin;
    *operations = 0;
    for (unsigned i = 0; i < settings->threads; i++) {
        if (i > 0)
            suite_join(runners[i].handle);
        *operations += runners[i].operations;
    }
    return seconds;
}

int main(int argc, char **argv) {
    struct suite_settings settings;
    uint64_t operations;
    bool peak;
    if (argc > 4 || (argc > 1 && argv[1][0] == '-'))
        return usage(argv[0]);
    if (!read_settings(&settings, &peak, argc, argv))
        return 2;
    if (suite.begin)
        suite.begin(&settings);
    double seconds = threads_run(&settings, &operations);
    if (suite.end)
        suite.end(&settings);
    report_throughput(&(struct settings){.working_set = settings.working_set}, operations, seconds);
    if (peak)
        report_peak();
    return 0;
}
