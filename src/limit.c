#include "limit.h"

#include "log.h"
#include "metadata.h"
#include "os.h"

#define LIMIT_SECOND 1000000000u
#define LIMIT_PRESSURE (10ull * LIMIT_SECOND) /* how long news of pressure count */

/* Threads of the process waited for memory 0.2 s of 2 s; processes without rights may ask for windows of 2 s only. */
#define LIMIT_TRIGGER "some 200000 2000000"
#define LIMIT_PRESSURE_FILE "/proc/pressure/memory"

/* Our calls before the first look: a process that made fewer has no thousands of mappings through us. */
#define LIMIT_FIRST_LOOK 4096
#define LIMIT_NEXT_LOOK 1024

struct limit limit = {
    .hard = SIZE_MAX,
    .near_from = SIZE_MAX,
    .count_at = LIMIT_FIRST_LOOK,
    .worst_at = (uint64_t)2 * LIMIT_FIRST_LOOK,
};

static size_t limit_load(const _Atomic size_t *word) {
    return atomic_load_explicit(word, memory_order_relaxed);
}

/* What the hard and the soft limit are compared with. */
static size_t limit_held(void) {
    return limit_load(&limit.held) + (size_t)metadata_bytes();
}

bool limit_take_counted(size_t bytes) {
    size_t records = limit.hard != SIZE_MAX ? (size_t)metadata_bytes() : 0;
    size_t held = limit_load(&limit.held);
    do {
        if (limit.hard != SIZE_MAX &&
            (records > limit.hard || bytes > limit.hard - records || held > limit.hard - records - bytes)) {
            atomic_fetch_add_explicit(&limit.refusals, 1, memory_order_relaxed);
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&limit.held, &held, held + bytes, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

static void limit_set_soft(size_t bytes) {
    size_t from = bytes != SIZE_MAX ? bytes - bytes / 8 : SIZE_MAX;
    atomic_store_explicit(&limit.near_from, from, memory_order_relaxed);
}

/* The smallest limit of the process's own cgroup and of all above it, and how many levels above it stands. */
static uint64_t limit_of_cgroup(unsigned *above) {
    unsigned above_high, above_most;
    uint64_t high = os_cgroup_least("memory.high", &above_high);
    uint64_t most = os_cgroup_least("memory.max", &above_most);
    *above = high < most ? above_high : above_most;
    return high < most ? high : most;
}

static void limit_read_cgroup(void) {
    unsigned above;
    uint64_t least = limit_of_cgroup(&above);
    limit_set_soft(least < SIZE_MAX ? (size_t)least : SIZE_MAX);
}

/* P3: of the threads that find the second over, one reads. */
static void limit_follow(uint64_t now) {
    uint64_t looked = atomic_load_explicit(&limit.looked, memory_order_relaxed);
    if (now - looked >= LIMIT_SECOND && !os_knows_of_filter() &&
        atomic_compare_exchange_strong_explicit(&limit.looked, &looked, now, memory_order_relaxed,
                                                memory_order_relaxed))
        limit_read_cgroup();
}

/* When pressure is over and there is no soft limit, nothing is left to watch. */
static bool limit_pressed(void) {
    uint64_t until = atomic_load_explicit(&limit.pressed, memory_order_relaxed);
    if (until == 0)
        return false;
    if (os_now_ns() < until)
        return true;
    if (atomic_compare_exchange_strong_explicit(&limit.pressed, &until, 0, memory_order_relaxed,
                                                memory_order_relaxed) &&
        !limit.following && limit_load(&limit.near_from) == SIZE_MAX)
        atomic_store_explicit(&limit.watching, false, memory_order_relaxed);
    return false;
}

bool limit_near_now(void) {
    if (limit.following)
        limit_follow(os_now_ns());
    return limit_held() > limit_load(&limit.near_from) || limit_pressed();
}

size_t limit_wants_drain(void) {
    size_t held = limit_held(), drained = limit_load(&limit.drained), from = limit_load(&limit.near_from);
    if (held < drained)
        atomic_store_explicit(&limit.drained, held, memory_order_relaxed);
    if (held <= from || held < drained || held - drained < LIMIT_STEP)
        return 0;
    size_t grown = held - (drained > from ? drained : from);
    return grown > LIMIT_STEP ? grown : LIMIT_STEP;
}

void limit_note_drained(void) {
    atomic_store_explicit(&limit.drained, limit_held(), memory_order_relaxed);
}

size_t limit_keep_now(size_t configured, size_t warm) {
    size_t held = limit_held(), from = limit_load(&limit.near_from);
    if (limit_pressed())
        return 0;
    if (held <= from)
        return configured;
    size_t fits = warm > held - from ? warm - (held - from) : 0;
    return fits < configured ? fits : configured;
}

void limit_configure(size_t hard, size_t soft, size_t budget) {
    limit.hard = hard != 0 ? hard : SIZE_MAX;
    limit.following = soft == LIMIT_CGROUP;
    limit.soft = soft != 0;
    limit.counting = hard != 0 || soft != 0;
    limit.budget = (uint32_t)budget;
    limit_set_soft(soft != 0 ? soft : SIZE_MAX);
    if (limit.following) {
        atomic_store_explicit(&limit.looked, os_now_ns(), memory_order_relaxed);
        limit_read_cgroup();
    }
    atomic_store_explicit(&limit.watching, soft != 0, memory_order_relaxed);
}

void limit_print(void) {
    size_t from = limit_load(&limit.near_from);
    log_line("%u CPUs may be used", os_cpu_count());
    if (from != SIZE_MAX)
        log_line("nothing is kept warm while more than %zu KiB are held", from / KIB);
    else if (limit.following)
        log_line("no cgroup v2 above this process limits memory: no soft limit");
}

static THREAD_LOCAL bool limit_lifted;

void limit_lift_budget(bool lifted) {
    limit_lifted = lifted;
}

bool limit_budget_left(void) {
    uint64_t spent = atomic_load_explicit(&limit.spent, memory_order_relaxed);
    return limit.budget == 0 || limit_lifted || (uint32_t)spent < limit.budget ||
           spent >> 32 < os_now_ns() / LIMIT_SECOND;
}

bool limit_may_purge(void) {
    if (limit.budget == 0 || limit_lifted)
        return true;
    uint64_t second = os_now_ns() / LIMIT_SECOND;
    uint64_t spent = atomic_load_explicit(&limit.spent, memory_order_relaxed), next;
    do {
        next = (spent >> 32 >= second ? spent : second << 32) + 1;
        if ((uint32_t)next > limit.budget)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&limit.spent, &spent, next, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

/* Mappings that calls may have made so far, or more: advice that gives nothing back may be of what pages there are to be, which makes three
 * of one. */
static uint64_t limit_map_calls(void) {
    uint64_t advice = atomic_load_explicit(&os_counts.advise, memory_order_relaxed),
             decommits = atomic_load_explicit(&os_counts.decommit, memory_order_relaxed);
    return atomic_load_explicit(&os_counts.map, memory_order_relaxed) +
           atomic_load_explicit(&os_counts.unmap, memory_order_relaxed) +
           atomic_load_explicit(&os_counts.remap, memory_order_relaxed) +
           (advice > decommits ? 2 * (advice - decommits) : 0);
}

/* The next look comes when, at worst, half of what is left of four fifths could have been used. */
static void limit_look_at_mappings(uint64_t calls) {
    bool filtered = os_knows_of_filter(); /* which may kill for opening a file */
    size_t allowed = filtered ? 0 : limit_load(&limit.allowed);
    if (allowed == 0 && !filtered)
        allowed = os_mappings_allowed();
    size_t used = allowed != 0 ? os_mappings() : 0;
    size_t most = allowed / 5 * 4;
    bool tight = used != 0 && used >= most;
    size_t more = used < most && most - used > LIMIT_NEXT_LOOK ? most - used : LIMIT_NEXT_LOOK;
    size_t half = more / 2 > LIMIT_NEXT_LOOK ? more / 2 : LIMIT_NEXT_LOOK;
    atomic_store_explicit(&limit.allowed, allowed, memory_order_relaxed);
    atomic_store_explicit(&limit.tight, tight, memory_order_relaxed);
    atomic_store_explicit(&limit.worst_at, calls + more, memory_order_relaxed);
    atomic_store_explicit(&limit.count_at, calls + half, memory_order_relaxed);
    if (tight && !atomic_exchange_explicit(&limit.said, true, memory_order_relaxed))
        log_line("%zu of %zu mappings (vm.max_map_count) are in use: hakmem splits none any more", used,
                 allowed);
}

/* One thread looks. If it is held up meanwhile, or is not in this process (fork), the others go on until four fifths could have been
 * reached, at worst, and then look too: a look that ends late asks for the next one at once. */
static bool limit_is_to_look(uint64_t calls) {
    uint64_t due = atomic_load_explicit(&limit.count_at, memory_order_relaxed);
    if (UNLIKELY(calls >= due) &&
        atomic_compare_exchange_strong_explicit(&limit.count_at, &due, UINT64_MAX, memory_order_relaxed,
                                                memory_order_relaxed))
        return true;
    return UNLIKELY(due == UINT64_MAX) &&
           calls >= atomic_load_explicit(&limit.worst_at, memory_order_relaxed);
}

void limit_count_mappings(void) {
    uint64_t calls = limit_map_calls();
    if (limit_is_to_look(calls))
        limit_look_at_mappings(calls);
}

static int limit_open_cgroup(unsigned above) {
    char path[256];
    return os_cgroup_path("memory.pressure", above, path, sizeof path) ? os_open_trigger(path, LIMIT_TRIGGER)
                                                                       : -1;
}

/* Of all that share the smallest limit with this process: those of other cgroups below it wait for our memory, too, and
 * those outside do not. Where that file is not ours to write, the own cgroup's; at last the machine's. */
static int limit_open_pressure(void) {
    unsigned above;
    limit_of_cgroup(&above);
    int fd = limit_open_cgroup(above);
    if (fd < 0 && above > 0)
        fd = limit_open_cgroup(0);
    return fd >= 0 ? fd : os_open_trigger(LIMIT_PRESSURE_FILE, LIMIT_TRIGGER);
}

int limit_pressure_fd(void) {
    if (limit.pressure == 0) {
        limit.pressure = limit_open_pressure();
        limit.pressure_id = os_file_id(limit.pressure);
    }
    if (limit.pressure > 0 && os_file_id(limit.pressure) != limit.pressure_id)
        limit.pressure = -1; /* the number is the program's by now */
    return limit.pressure;
}

void limit_in_child(void) {
    if (limit.pressure > 0 && limit_pressure_fd() > 0)
        os_close(limit.pressure);
    if (limit.pressure != 0) /* a page that is not written to is not copied */
        limit.pressure = 0;
}

void limit_note_pressure(void) {
    atomic_store_explicit(&limit.pressed, os_now_ns() + LIMIT_PRESSURE, memory_order_relaxed);
    atomic_store_explicit(&limit.watching, true, memory_order_relaxed);
}

/* Without a soft limit nobody asked for a descriptor of ours, or for the kernel's work. */
void limit_rest(_Atomic uint32_t *word, uint32_t seen, uint64_t ns) {
    int fd = limit.soft ? limit_pressure_fd() : -1;
    if (fd < 0)
        os_wait_for(word, seen, ns);
    while (fd >= 0 && ns > 0 && atomic_load_explicit(word, memory_order_relaxed) == seen) {
        uint64_t some = ns < LIMIT_SECOND ? ns : LIMIT_SECOND; /* who waits for a file is woken by no futex */
        ns -= some;
        if (os_wait_trigger(fd, some)) {
            limit_note_pressure();
            break;
        }
    }
}
