#include "stats.h"

#include "large.h"
#include "limit.h"
#include "log.h"
#include "metadata.h"
#include "options.h"
#include "os.h"

/* The counters belong to their threads; a torn sum is a snapshot, not a fault. */
static uint64_t stats_read(const uint64_t *counter) {
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* Blocks at hand are live to who has them. */
static void stats_add_hand(struct stats *stats, const struct large_hand *hand) {
    const struct spare_recent *recent =
        __atomic_load_n(&hand->recent, __ATOMIC_ACQUIRE); /* pairs with large */
    size_t bytes = recent ? __atomic_load_n(&recent->bytes, __ATOMIC_RELAXED) : 0;
    if (bytes > stats->live_bytes)
        bytes = stats->live_bytes;
    stats->live_bytes -= bytes;
    stats->free_bytes += bytes;
}

static void stats_add_heap(const struct heap *heap, void *data) {
    struct stats *stats = data;
    stats_add_hand(stats, &heap->hand);
    stats->heaps++;
    stats->idle_heaps += heap->idle;
    stats->larges += stats_read(&heap->larges);
    stats->large_frees += stats_read(&heap->large_frees);
    stats->remote_frees += stats_read(&heap->remote_frees);
    stats->refills += stats_read(&heap->refills);
    stats->flushes += stats_read(&heap->flushes);
    for (unsigned class = 0; has(counters) && class < SIZECLASS_COUNT; class ++) {
        uint64_t mallocs = stats_read(&heap->mallocs[class]), frees = stats_read(&heap->frees[class]);
        stats->mallocs += mallocs;
        stats->frees += frees;
        stats->exact_bytes += (mallocs - frees) * sizeclass_table[class].size; /* sums up over all heaps */
    }
}

void stats_collect(struct stats *stats) {
    *stats = (struct stats){0};
    size_t cached = large_cached_bytes(), mapped = large_mapped_bytes();
    stats->mapped_bytes = superslab_mapped_bytes() + mapped;
    stats->free_bytes = superslab_free_bytes() + cached;
    if (stats->free_bytes > stats->mapped_bytes) /* something was unmapped between the two */
        stats->free_bytes = stats->mapped_bytes;
    stats->live_bytes = stats->mapped_bytes - stats->free_bytes;
    stats->dirty_bytes = superslab_dirty_bytes() + cached;
    stats->large_bytes = mapped > cached ? mapped - cached : 0;
    stats->metadata_bytes = metadata_bytes();
    heap_each(stats_add_heap, stats);
}

static void stats_print_bytes(const char *what, uint64_t bytes) {
    uint64_t tenths = (bytes * 10 + MIB / 2) / MIB;
    log_line("  %s %lu.%lu MiB", what, (unsigned long)(tenths / 10), (unsigned long)(tenths % 10));
}

static void stats_print_seconds(const char *what, uint64_t ns) {
    unsigned long ms = (unsigned long)((ns + 500000) / 1000000);
    log_line("  %s %lu.%c%c%c s", what, ms / 1000, (char)('0' + ms / 100 % 10), (char)('0' + ms / 10 % 10),
             (char)('0' + ms % 10));
}

static unsigned long stats_count(const _Atomic uint64_t *counter) {
    return (unsigned long)atomic_load_explicit(counter, memory_order_relaxed);
}

static void stats_print_calls(void) {
    unsigned long map = stats_count(&os_counts.map_failed), unmap = stats_count(&os_counts.unmap_failed),
                  remap = stats_count(&os_counts.remap_failed),
                  advise = stats_count(&os_counts.advise_enomem) + stats_count(&os_counts.advise_other);
    log_line("  system calls    mmap %lu, munmap %lu, mremap %lu, madvise %lu", stats_count(&os_counts.map),
             stats_count(&os_counts.unmap), stats_count(&os_counts.remap), stats_count(&os_counts.advise));
    if (map + unmap + remap + advise > 0)
        log_line("    of them refused: mmap %lu, munmap %lu, mremap %lu, madvise %lu", map, unmap, remap,
                 advise);
}

/* What the calls were for and, if they are timed (HAKMEM_STATS), what they took. */
static void stats_print_costs(void) {
    static const char names[OS_KINDS][8] = {"mmap", "munmap", "mremap", "madvise"};
    for (unsigned kind = 0; kind < OS_KINDS; kind++) {
        unsigned long kib = stats_count(&os_counts.bytes[kind]) / KIB,
                      us = stats_count(&os_counts.ns[kind]) / 1000;
        if (us != 0)
            log_line("    %s for %lu KiB in %lu us", names[kind], kib, us);
        else if (kib != 0)
            log_line("    %s for %lu KiB", names[kind], kib);
    }
    log_line("  other calls     sleep %lu, wake %lu, name %lu, file %lu", stats_count(&os_counts.wait),
             stats_count(&os_counts.wake), stats_count(&os_counts.name), stats_count(&os_counts.file));
}

static void stats_print_limits(void) {
    if (limit.hard != SIZE_MAX)
        log_line("  hard limit      %zu KiB, refusals %lu", limit.hard / KIB, stats_count(&limit.refusals));
    size_t near_from = atomic_load_explicit(&limit.near_from, memory_order_relaxed);
    if (near_from != SIZE_MAX)
        log_line("  soft limit      nothing is kept warm from %zu KiB on", near_from / KIB);
    if (limit.counting)
        stats_print_bytes("held           ", atomic_load_explicit(&limit.held, memory_order_relaxed));
}

/* One command can be many processes, which all write to one place. */
static void stats_print_heading(void) {
    char name[32] = ""; /* the kernel cuts it to 15 characters, and ends it with a newline */
    size_t length = os_read_file("/proc/self/comm", name, sizeof name);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 127)
            name[i] = i + 1 < length ? '?' : '\0';
    log_line("summary of %s%sprocess %u (%s %s, profile %s)", name, length > 0 ? ", " : "",
             os_process_number(), options_variant, options_version, options_profile_name());
}

void stats_print_summary(void) {
    struct stats stats;
    struct os_usage usage;
    stats_collect(&stats);
    os_read_usage(&usage);
    stats_print_heading();
    stats_print_bytes("peak RSS       ", usage.peak_rss_bytes);
    stats_print_bytes("mapped         ", stats.mapped_bytes);
    stats_print_bytes("  live, at hand", stats.live_bytes);
    stats_print_bytes("  free, held   ", stats.dirty_bytes);
    stats_print_bytes("own records    ", stats.metadata_bytes);
    if (has(counters)) {
        log_line("  calls           malloc %lu, free %lu; large %lu, %lu", (unsigned long)stats.mallocs,
                 (unsigned long)stats.frees, (unsigned long)stats.larges, (unsigned long)stats.large_frees);
        stats_print_bytes("live small     ", stats.exact_bytes);
    }
    log_line("  slow paths      refill %lu, flush %lu, remote free %lu; heaps %lu",
             (unsigned long)stats.refills, (unsigned long)stats.flushes, (unsigned long)stats.remote_frees,
             (unsigned long)stats.heaps);
    stats_print_calls();
    stats_print_costs();
    stats_print_limits();
    log_line("  page faults     minor %lu, major %lu", (unsigned long)usage.minor_faults,
             (unsigned long)usage.major_faults);
    stats_print_seconds("user time      ", usage.user_ns);
    stats_print_seconds("system time    ", usage.system_ns);
}

void stats_print_os_line(void) {
    char line[400];
    unsigned long map = stats_count(&os_counts.map), unmap = stats_count(&os_counts.unmap);
    size_t length = log_format(
        line, sizeof line,
        "[SS_OS_STATS] alloc=%lu free=%lu madvise=%lu madvise_enomem=%lu madvise_other=%lu "
        "madvise_disabled=%lu "
        "mmap_total=%lu fallback_mmap=%lu huge_alloc=%lu huge_fail=%lu lean_decommit=%lu\n",
        map - stats_count(&os_counts.map_failed), unmap, stats_count(&os_counts.advise),
        stats_count(&os_counts.advise_enomem), stats_count(&os_counts.advise_other),
        stats_count(&os_counts.advise_disabled), map, stats_count(&os_counts.fallback_map),
        stats_count(&os_counts.huge), stats_count(&os_counts.huge_failed), stats_count(&os_counts.decommit));
    log_raw(line, length);
}
