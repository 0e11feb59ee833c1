// The driver's output: the contract's lines, the clock, and the two places where Linux tells a process its RSS.
//
// Lines are formatted on the stack and written with write(), because stdio would allocate its buffer with the
// allocator under test. Peak RSS is VmHWM of /proc/self/status: ru_maxrss of getrusage() survives exec, so it
// would report the shell or the Python that started the driver; it serves where there is no VmHWM.
#define _GNU_SOURCE
#include "driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_LINE = 256 };

double report_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((format(printf, 2, 3))) static void line_write(int fd, const char *format, ...) {
    char line[LONGEST_LINE];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (int written = 0; written < length;) {
        ssize_t n = write(fd, line + written, (size_t)(length - written));
        if (n <= 0) {
            if (errno != EPIPE) // else nobody reads any more
                perror(fd == STDOUT_FILENO ? "cannot write on standard output" : "cannot write");
            exit(1);
        }
        written += (int)n;
    }
}

// The file's text, cut to the buffer; an empty string when it cannot be read.
static const char *file_read(const char *path, char *buffer, size_t bytes) {
    ssize_t length = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        length = read(fd, buffer, bytes - 1);
        close(fd);
    }
    buffer[length > 0 ? length : 0] = '\0';
    return buffer;
}

static unsigned long rss_kb_now(void) {
    char text[256];
    unsigned long size = 0, resident = 0;
    if (sscanf(file_read("/proc/self/statm", text, sizeof text), "%lu %lu", &size, &resident) != 2)
        return 0;
    return resident * ((unsigned long)sysconf(_SC_PAGESIZE) / 1024);
}

static double operations_per_second(uint64_t iterations, double seconds) {
    return (double)iterations / (seconds > 1e-9 ? seconds : 1e-9);
}

void report_throughput(const struct settings *settings, uint64_t iterations, double seconds) {
    line_write(STDOUT_FILENO, "Throughput = %.0f ops/s [iter=%llu ws=%zu] time=%.3fs\n",
               operations_per_second(iterations, seconds), (unsigned long long)iterations,
               settings->working_set, seconds);
}

static void epoch_format(char line[LONGEST_LINE], const struct settings *settings, uint64_t epoch,
                         uint64_t iterations, double seconds) {
    snprintf(line, LONGEST_LINE,
             "[EPOCH] %llu Throughput = %.0f ops/s [iter=%llu ws=%zu] time=%.3fs rss_kb=%lu\n",
             (unsigned long long)epoch, operations_per_second(iterations, seconds),
             (unsigned long long)iterations, settings->working_set, seconds, rss_kb_now());
}

void report_ready(const struct settings *settings) {
    char line[LONGEST_LINE];
    epoch_format(line, settings, 0, settings->epoch_iterations, 1);
}

void report_epoch(const struct settings *settings, uint64_t epoch, uint64_t iterations, double seconds) {
    char line[LONGEST_LINE];
    epoch_format(line, settings, epoch, iterations, seconds);
    line_write(STDOUT_FILENO, "%s", line);
}

unsigned long report_peak_kb(void) {
    char text[4096];
    const char *peak = strstr(file_read("/proc/self/status", text, sizeof text), "VmHWM:");
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return peak ? strtoul(peak + strlen("VmHWM:"), NULL, 10) : (unsigned long)usage.ru_maxrss;
}

void report_peak(void) {
    line_write(STDERR_FILENO, "[RSS] peak_kb=%lu\n", report_peak_kb());
}
