/* os on Linux: see os.h for what it promises.
 *
 * Memory calls go through syscall(); the environment is walked where libc has it, or, when we are called
 * before libc has been initialised, where the kernel put it. */
#include "base.h"
#include "boxes.h"
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* The kernel's words, by its numbers: a system with musl may have no headers of it (linux/futex.h, linux/membarrier.h). */
#define OS_FUTEX_WAIT_PRIVATE (0 | 128)
#define OS_FUTEX_WAKE_PRIVATE (1 | 128)
#define OS_MEMBARRIER_PRIVATE_EXPEDITED (1 << 3)
#define OS_MEMBARRIER_REGISTER_PRIVATE_EXPEDITED (1 << 4)

#define OS_MREMAP_DONTUNMAP 4 /* older headers do not name it */
#define OS_MAP_FIXED_NOREPLACE 0x100000
#define OS_NANOSECONDS 1000000000u
#define OS_NO_NAMES UINT32_MAX
#define OS_KEPT_LOWEST 100 /* out of the way of programs that count on low numbers */

struct os_counts os_counts;
_Atomic unsigned os_cpus;

static struct {
    bool names, timed;
    _Atomic uint64_t
        stopped; /* the time that it stays, 0 while it goes on; relaxed, as whoever stops it is whom it would end */
    bool ask_kernel; /* for the time: somebody else's clock_gettime stands before libc's, and may allocate */
    _Atomic uint32_t named; /* mappings that asked for a name; NO_NAMES after a refusal */
    _Atomic uintptr_t
        first; /* the mapping that waits for its name, while it is not unmapped, its length and use */
    size_t first_bytes;
    enum os_use first_use;
    _Atomic uint32_t refused; /* bit per advice that the kernel refuses for good */
    _Atomic bool barrier;     /* that was registered; relaxed: seen late, it costs a call */
    _Atomic bool
        filtered; /* by a filter that was told of; relaxed: the thread that sets one has told itself */
    _Atomic bool inherits;   /* a filter that was there when the process began; relaxed, as above */
    _Atomic uint64_t random; /* state of the generator that stands in for getrandom */
    int kept_fd;             /* a duplicate of standard error, 0 if none; and the file that it meant then */
    dev_t kept_device;
    ino_t kept_inode;
} os_state;

bool os_knows_of_filter(void) {
    return atomic_load_explicit(&os_state.filtered, memory_order_relaxed);
}

/* Set by the dynamic linker to where the kernel put argc, argv and the environment. */
extern void *__libc_stack_end __attribute__((weak));

static void os_count(_Atomic uint64_t *counter) {
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void os_add(_Atomic uint64_t *counter, uint64_t more) {
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

static void os_count_mapped(size_t more, size_t less) {
    os_add(&os_counts.mapped_bytes, (uint64_t)more - less);
}

/* P6: which units below the end of the window we have mapped whole, a bit each; only where it is asserted. Relaxed:
 * who advises on a range was handed it by who mapped it. Mappings above the window are not looked at. */
enum { OS_UNIT_SHIFT = 16, OS_OWNED_WORDS = has(asserts) ? 1 << 15 : 1 };
static _Atomic uint64_t os_owned[OS_OWNED_WORDS];

static bool os_in_window(uintptr_t start, size_t bytes) {
    uintptr_t end = (uintptr_t)OS_OWNED_WORDS * 64 << OS_UNIT_SHIFT;
    return start < end && bytes < end - start;
}

static void os_own(uintptr_t start, size_t bytes, bool ours) {
    if (!has(asserts) || !os_in_window(start, bytes))
        return;
    uintptr_t last = (start + bytes) >> OS_UNIT_SHIFT;
    for (uintptr_t unit = align_up(start, (size_t)1 << OS_UNIT_SHIFT) >> OS_UNIT_SHIFT; unit < last; unit++) {
        uint64_t bit = 1ULL << unit % 64;
        if (ours)
            atomic_fetch_or_explicit(&os_owned[unit / 64], bit, memory_order_relaxed);
        else
            atomic_fetch_and_explicit(&os_owned[unit / 64], ~bit, memory_order_relaxed);
    }
}

UNUSED static bool os_owns(uintptr_t start, size_t bytes) {
    if (!os_in_window(start, bytes))
        return true;
    uintptr_t last = (start + bytes - 1) >> OS_UNIT_SHIFT;
    for (uintptr_t unit = start >> OS_UNIT_SHIFT; unit <= last; unit++)
        if (!(atomic_load_explicit(&os_owned[unit / 64], memory_order_relaxed) >> unit % 64 & 1))
            return false;
    return true;
}

void os_configure(bool names, bool timed) {
    os_state.names = names;
    os_state.timed = timed;
    struct os_text libc = os_text_of_libc();
    os_state.ask_kernel = libc.from != 0 && !os_is_inside(&libc, (const void *)(uintptr_t)&clock_gettime);
}

/* One system call; its error number goes to *error and errno stays as it was. */
long os_call(int *error, long number, long a, long b, long c, long d, long e, long f) {
    int kept = errno;
    long result = syscall(number, a, b, c, d, e, f);
    *error = result == -1 ? errno : 0;
    errno = kept;
    return result;
}

/* The mapping that waits for its name loses it when anything of it goes. */
static void os_forget_first(const void *address, size_t bytes) {
    uintptr_t first =
        atomic_load_explicit(&os_state.first, memory_order_acquire); /* with its length: pairs with os_name */
    if (first != 0 && first < (uintptr_t)address + bytes && (uintptr_t)address < first + os_state.first_bytes)
        atomic_store_explicit(&os_state.first, 0, memory_order_relaxed);
}

/* A call for memory: counted in bytes and, if wanted, in time. */
static long os_memory_call(enum os_kind kind, size_t bytes, int *error, long number, long a, long b, long c,
                           long d, long e, long f) {
    uint64_t begun = os_state.timed ? os_now_ns() : 0;
    long result = os_call(error, number, a, b, c, d, e, f);
    if (os_state.timed)
        os_add(&os_counts.ns[kind], os_now_ns() - begun);
    if (*error == 0)
        os_add(&os_counts.bytes[kind], bytes);
    return result;
}

/* One mmap. */
static long os_map_call(void *hint, size_t bytes, int flags, int *error) {
    os_count(&os_counts.map);
    return os_memory_call(OS_MAP, bytes, error, SYS_mmap, (long)hint, (long)bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

void *os_map(size_t bytes, void *hint) {
    int error;
    long address = os_map_call(hint, bytes, 0, &error);
    if (error != 0) {
        os_count(&os_counts.map_failed);
        return NULL;
    }
    os_count_mapped(bytes, 0);
    os_own((uintptr_t)address, bytes, true);
    return (void *)address;
}

bool os_unmap(void *address, size_t bytes) {
    int error;
    os_forget_first(address, bytes);
    os_own((uintptr_t)address, bytes, false); /* before others may get the addresses */
    os_memory_call(OS_UNMAP, bytes, &error, SYS_munmap, (long)address, (long)bytes, 0, 0, 0, 0);
    os_count(&os_counts.unmap);
    if (error != 0) {
        os_own((uintptr_t)address, bytes, true);
        os_count(&os_counts.unmap_failed);
        return false;
    }
    os_count_mapped(0, bytes);
    return true;
}

/* Maps enough to hold an aligned range wherever it falls, and unmaps what is too much. A piece that cannot be
 * unmapped is counted as mapped and never used. */
static void *os_map_trimmed(size_t bytes, size_t alignment) {
    if (bytes > SIZE_MAX - alignment)
        return NULL;
    size_t total = bytes + alignment - os_page_size();
    unsigned char *base = os_map(total, NULL);
    if (base == NULL)
        return NULL;
    os_count(&os_counts.fallback_map);
    size_t head = align_up((uintptr_t)base, alignment) - (uintptr_t)base;
    size_t tail = total - head - bytes;
    if (head != 0)
        os_unmap(base, head);
    if (tail != 0)
        os_unmap(base + head + bytes, tail);
    return base + head;
}

void *os_map_aligned(size_t bytes, size_t alignment, void *hint) {
    void *address = os_map(bytes, hint);
    if (address == NULL || align_down((uintptr_t)address, alignment) == (uintptr_t)address)
        return address;
    os_unmap(address, bytes);
    return os_map_trimmed(bytes, alignment);
}

/* Kernels before 6.17 unmap the target before they find out that they cannot move to it: it is mapped again, before
 * anybody else gets the addresses. One that is still there is left alone (EEXIST; before 4.17 the flag is unknown, and
 * another place is given). */
static void os_map_again(void *target, size_t bytes) {
    int error, unused;
    long address = os_map_call(target, bytes, OS_MAP_FIXED_NOREPLACE, &error);
    if (error == 0 && address != (long)target)
        os_call(&unused, SYS_munmap, address, (long)bytes, 0, 0, 0, 0);
}

/* mremap; `replaced` is how much of our own memory the new range covers. */
static void *os_remap_call(void *address, size_t old_bytes, size_t new_bytes, int flags, void *target,
                           size_t replaced) {
    int error;
    os_forget_first(address, old_bytes);
    os_own((uintptr_t)address, old_bytes, false);
    long result = os_memory_call(OS_REMAP, new_bytes, &error, SYS_mremap, (long)address, (long)old_bytes,
                                 (long)new_bytes, flags, (long)target, 0);
    os_count(&os_counts.remap);
    if (error != 0) {
        os_own((uintptr_t)address, old_bytes, true);
        os_count(&os_counts.remap_failed);
        if (target != NULL)
            os_map_again(target, new_bytes);
        return NULL;
    }
    os_own((uintptr_t)result, new_bytes, true);
    os_count_mapped(new_bytes, old_bytes + replaced);
    return (void *)result;
}

void *os_remap(void *address, size_t old_bytes, size_t new_bytes) {
    return os_remap_call(address, old_bytes, new_bytes, 0, NULL, 0);
}

/* To a higher place that overlaps, the last page first. A page of zeros is not written, for it may not be in memory. */
static void os_shift(unsigned char *to, const unsigned char *from, size_t bytes) {
    size_t page = os_page_size();
    for (size_t at = bytes; to != from && at > 0;) {
        at -= page;
        if (memcmp(to + at, from + at, page) != 0)
            memcpy(to + at, from + at, page);
    }
}

void *os_remap_away(void *address, size_t old_bytes, size_t new_bytes, size_t alignment) {
    size_t room = new_bytes + alignment - os_page_size();
    unsigned char *moved = os_remap_call(address, old_bytes, room, MREMAP_MAYMOVE, NULL, 0);
    if (!moved)
        return NULL;
    unsigned char *start = (unsigned char *)align_up((uintptr_t)moved, alignment);
    size_t before = (size_t)(start - moved);
    os_shift(start, moved, old_bytes);
    if (before > 0)
        os_unmap(moved, before);
    if (before + new_bytes < room)
        os_unmap(start + new_bytes, room - before - new_bytes);
    return start;
}

void *os_remap_to(void *address, size_t old_bytes, size_t new_bytes, void *target) {
    return os_remap_call(address, old_bytes, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target, new_bytes);
}

/* The target's own pages go, the old range stays: together as much is mapped as before. */
bool os_move_out(void *address, size_t bytes, void *target) {
    int error;
    os_memory_call(OS_REMAP, bytes, &error, SYS_mremap, (long)address, (long)bytes, (long)bytes,
                   MREMAP_MAYMOVE | MREMAP_FIXED | OS_MREMAP_DONTUNMAP, (long)target, 0);
    os_count(&os_counts.remap);
    if (error == 0)
        return true;
    os_count(&os_counts.remap_failed);
    os_map_again(target, bytes);
    return false;
}

bool os_page_words(const void *address, size_t pages, uint64_t *words) {
    int error, unused;
    long fd =
        os_call(&error, SYS_openat, AT_FDCWD, (long)"/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0, 0, 0);
    os_count(&os_counts.file);
    if (error != 0)
        return false;
    long bytes = (long)(pages * sizeof *words),
         at = (long)((uintptr_t)address / os_page_size() * sizeof *words);
    long got = os_call(&error, SYS_pread64, fd, (long)words, bytes, at, 0, 0);
    os_call(&unused, SYS_close, fd, 0, 0, 0, 0, 0);
    return got == bytes;
}

/* What systemd allows to a service, where it filters (SystemCallFilter=@system-service), has no mincore, and kills for it: but files may be read. */
static COLD bool os_in_memory_by_file(const unsigned char *address, size_t pages, unsigned char *present) {
    uint64_t words[128];
    for (size_t done = 0; done < pages;) {
        size_t some = pages - done < ARRAY_LENGTH(words) ? pages - done : ARRAY_LENGTH(words);
        if (!os_page_words(address + done * os_page_size(), some, words))
            return false;
        for (size_t i = 0; i < some; i++)
            present[done++] = (words[i] & OS_PAGE_THERE) != 0;
    }
    return true;
}

bool os_in_memory(const void *address, size_t pages, unsigned char *present) {
    int error;
    if (os_knows_of_filter())
        return false;
    os_count(&os_counts.look);
    if (os_is_filtered())
        return os_in_memory_by_file(address, pages, present);
    os_call(&error, SYS_mincore, (long)address, (long)(pages * os_page_size()), (long)present, 0, 0, 0);
    return error == 0;
}

/* One madvise; returns its error number. */
static int os_madvise(void *address, size_t bytes, int advice) {
    int error;
    os_memory_call(OS_ADVISE, bytes, &error, SYS_madvise, (long)address, (long)bytes, advice, 0, 0, 0);
    os_count(&os_counts.advise);
    if (error == ENOMEM)
        os_count(&os_counts.advise_enomem);
    else if (error != 0)
        os_count(&os_counts.advise_other);
    return error;
}

static void os_count_advice(enum os_advice advice, bool taken) {
    if (advice == OS_HUGE || advice == OS_COLLAPSE)
        os_count(taken ? &os_counts.huge : &os_counts.huge_failed);
    else if (taken && (advice == OS_DONTNEED || advice == OS_FREE))
        os_count(&os_counts.decommit);
}

bool os_advise(void *address, size_t bytes, enum os_advice advice) {
    static const int words[] = {
        [OS_DONTNEED] = MADV_DONTNEED, [OS_FREE] = MADV_FREE,         [OS_HUGE] = MADV_HUGEPAGE,
        [OS_SMALL] = MADV_NOHUGEPAGE,  [OS_COLLAPSE] = MADV_COLLAPSE, [OS_POPULATE] = MADV_POPULATE_WRITE,
    };
    uint32_t bit = 1u << advice;
    ASSERT(P6, os_owns((uintptr_t)address, bytes));
    if (atomic_load_explicit(&os_state.refused, memory_order_relaxed) & bit) {
        os_count(&os_counts.advise_disabled);
        return false;
    }
    int error = os_madvise(address, bytes, words[advice]);
    if (error == ENOSYS || error == EPERM ||
        (error == EINVAL &&
         (advice == OS_POPULATE || advice == OS_SMALL))) /* before Linux 5.14; without huge pages at all */
        atomic_fetch_or_explicit(&os_state.refused, bit, memory_order_relaxed);
    if (error == EINVAL && advice == OS_FREE)
        error = os_madvise(address, bytes, MADV_DONTNEED);
    os_count_advice(advice, error == 0);
    return error == 0;
}

void os_keep_small(void *table, size_t bytes) {
    size_t page = os_page_size();
    uintptr_t start = align_up((uintptr_t)table, page), end = align_down((uintptr_t)table + bytes, page);
    os_madvise((void *)start, end - start, MADV_NOHUGEPAGE);
}

/* Kernels without names say EINVAL, filters EPERM or ENOSYS: they are not asked again. */
static void os_name_now(uintptr_t address, size_t bytes, enum os_use use) {
    static const char names[][16] = {"hakmem slabs", "hakmem large", "hakmem records"};
    int error;
    os_call(&error, SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, (long)address, (long)bytes, (long)names[use],
            0);
    os_count(&os_counts.name);
    if (error == EINVAL || error == EPERM || error == ENOSYS || error == EACCES)
        atomic_store_explicit(&os_state.named, OS_NO_NAMES, memory_order_relaxed);
}

void os_name(void *address, size_t bytes, enum os_use use) {
    uint32_t before = atomic_load_explicit(&os_state.named, memory_order_relaxed);
    if (!os_state.names || before == OS_NO_NAMES)
        return;
    if (before == 0 && atomic_compare_exchange_strong_explicit(&os_state.named, &before, 1,
                                                               memory_order_relaxed, memory_order_relaxed)) {
        os_state.first_bytes = bytes;
        os_state.first_use = use;
        /* Pairs with the exchange below: who takes the address sees length and use. */
        atomic_store_explicit(&os_state.first, (uintptr_t)address, memory_order_release);
        return;
    }
    uintptr_t first = atomic_exchange_explicit(&os_state.first, 0, memory_order_acquire);
    if (first != 0)
        os_name_now(first, os_state.first_bytes, os_state.first_use);
    if (atomic_load_explicit(&os_state.named, memory_order_relaxed) != OS_NO_NAMES)
        os_name_now((uintptr_t)address, bytes, use);
}

#if !defined(__x86_64__)
size_t os_page_size(void) {
    size_t bytes = getauxval(AT_PAGESZ);
    return bytes != 0 ? bytes : 4 * KIB;
}
#endif

uint64_t os_now_ns(void) {
    struct timespec now;
    int kept = errno;
    uint64_t stopped = atomic_load_explicit(&os_state.stopped, memory_order_relaxed);
    if (UNLIKELY(stopped != 0))
        return stopped;
    long failed = os_state.ask_kernel ? syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now)
                                      : clock_gettime(CLOCK_MONOTONIC, &now);
    errno = kept;
    return failed ? 0 : (uint64_t)now.tv_sec * OS_NANOSECONDS + (uint64_t)now.tv_nsec;
}

uint64_t os_ticks(void) {
#if defined(__x86_64__)
    unsigned processor;
    return __builtin_ia32_rdtscp(&processor);
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return os_now_ns();
#endif
}

/* splitmix64 over a counter, the clock, the kernel's random bytes and our own address. */
static uint64_t os_random_without_kernel(void) {
    uint64_t seed[2] = {0, 0};
    const void *bytes = (const void *)getauxval(AT_RANDOM);
    if (bytes != NULL)
        memcpy(seed, bytes, sizeof seed);
    uint64_t step = atomic_fetch_add_explicit(&os_state.random, 0x9e3779b97f4a7c15u, memory_order_relaxed);
    uint64_t word = step + os_now_ns() + (seed[0] ^ (seed[1] >> 7)) + (uintptr_t)&os_state;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

uint64_t os_random(void) {
    const long nonblocking = 1;
    uint64_t word;
    int error;
    if (os_knows_of_filter())
        return os_random_without_kernel();
    long got = os_call(&error, SYS_getrandom, (long)&word, sizeof word, nonblocking, 0, 0, 0);
    return got == (long)sizeof word ? word : os_random_without_kernel();
}

void os_write(int fd, const char *text, size_t bytes) {
    while (bytes != 0) {
        int error;
        long written = os_call(&error, SYS_write, fd, (long)text, (long)bytes, 0, 0, 0);
        if (error == EINTR)
            continue;
        if (written <= 0)
            return;
        text += written;
        bytes -= (size_t)written;
    }
}

unsigned os_affinity(void) {
    uint64_t mask[128]; /* 8,192 CPUs; with more of them the kernel refuses */
    int error;
    long bytes = os_call(&error, SYS_sched_getaffinity, 0, sizeof mask, (long)mask, 0, 0, 0);
    unsigned cpus = 0;
    for (size_t i = 0; error == 0 && i < (size_t)bytes / sizeof mask[0]; i++)
        cpus += bits_count(mask[i]);
    return cpus != 0 ? cpus : 1;
}

size_t os_mappings(void) {
    char text[512];
    int error, unused;
    size_t lines = 0;
    long fd = os_call(&error, SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0, 0);
    os_count(&os_counts.file);
    if (error != 0)
        return 0;
    for (long got; (got = os_call(&error, SYS_read, fd, (long)text, sizeof text, 0, 0, 0)) > 0;)
        for (long i = 0; i < got; i++)
            lines += text[i] == '\n';
    os_call(&unused, SYS_close, fd, 0, 0, 0, 0, 0);
    return lines;
}

/* The descriptor is moved out of the way of programs that count on low numbers. */
int os_open_trigger(const char *path, const char *trigger) {
    int error, unused;
    long fd = os_call(&error, SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0, 0, 0);
    os_count(&os_counts.file);
    if (error != 0)
        return -1;
    long kept = os_call(&error, SYS_fcntl, fd, F_DUPFD_CLOEXEC, OS_KEPT_LOWEST, 0, 0, 0);
    os_call(&unused, SYS_close, fd, 0, 0, 0, 0, 0);
    if (error != 0)
        return -1;
    os_call(&error, SYS_write, kept, (long)trigger, (long)strlen(trigger) + 1, 0, 0, 0);
    if (error == 0)
        return (int)kept;
    os_call(&unused, SYS_close, kept, 0, 0, 0, 0, 0);
    return -1;
}

void os_close(int fd) {
    int unused;
    os_call(&unused, SYS_close, fd, 0, 0, 0, 0, 0);
}

/* POLLERR: the file went away, as the cgroup's does with its cgroup; then it is as if there was none. */
bool os_wait_trigger(int fd, uint64_t ns) {
    int error, unused;
    struct pollfd file = {.fd = fd, .events = POLLPRI};
    struct timespec limit = {.tv_sec = (time_t)(ns / OS_NANOSECONDS), .tv_nsec = (long)(ns % OS_NANOSECONDS)};
    struct timespec slept = limit;
    long ready = os_call(&error, SYS_ppoll, (long)&file, 1, (long)&limit, 0, 0, 0);
    bool fired = ready == 1 && (file.revents & POLLPRI) && !(file.revents & (POLLERR | POLLNVAL));
    if (ready != 0 && !fired)
        os_call(&unused, SYS_nanosleep, (long)&slept, 0, 0, 0, 0, 0);
    return fired;
}

/* By itself, as all calls here: a library that stands before libc's fstat may allocate in its own. Where longs have 64 bits libc's
 * struct is the kernel's. False: it is not open. */
static bool os_look_at(int fd, struct stat *file) {
    int error;
    os_call(&error, SYS_fstat, fd, (long)file, 0, 0, 0, 0);
    return error == 0;
}

uint64_t os_file_id(int fd) {
    struct stat file;
    return os_look_at(fd, &file) ? (uint64_t)file.st_dev << 40 ^ (uint64_t)file.st_ino : 0;
}

void os_keep_stderr(void) {
    int error;
    struct stat file;
    long fd = os_call(&error, SYS_fcntl, STDERR_FILENO, F_DUPFD_CLOEXEC, OS_KEPT_LOWEST, 0, 0, 0);
    if (fd < 0 || os_state.kept_fd > 0 || !os_look_at((int)fd, &file))
        return;
    os_state.kept_device = file.st_dev;
    os_state.kept_inode = file.st_ino;
    os_state.kept_fd = (int)fd;
}

int os_stderr(void) {
    struct stat file; /* the program may have closed it */
    bool same = os_state.kept_fd != 0 && os_look_at(os_state.kept_fd, &file) &&
                file.st_dev == os_state.kept_device && file.st_ino == os_state.kept_inode;
    return same ? os_state.kept_fd : STDERR_FILENO;
}

_Noreturn void os_exit(int status) {
    for (;;)
        syscall(SYS_exit_group, status);
}

/* A filter that forbids futex turns waiting into yielding. */
void os_wait(_Atomic uint32_t *word, uint32_t expected) {
    int error;
    os_count(&os_counts.wait);
    os_call(&error, SYS_futex, (long)word, OS_FUTEX_WAIT_PRIVATE, expected, 0, 0, 0);
    if (error == ENOSYS || error == EPERM)
        os_call(&error, SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

void os_wait_for(_Atomic uint32_t *word, uint32_t expected, uint64_t ns) {
    int error;
    struct timespec limit = {.tv_sec = (time_t)(ns / OS_NANOSECONDS), .tv_nsec = (long)(ns % OS_NANOSECONDS)};
    os_call(&error, SYS_futex, (long)word, OS_FUTEX_WAIT_PRIVATE, expected, (long)&limit, 0, 0);
    if (error == ENOSYS || error == EPERM)
        os_call(&error, SYS_nanosleep, (long)&limit, 0, 0, 0, 0, 0);
}

bool os_barrier_ready(void) {
    return atomic_load_explicit(&os_state.barrier, memory_order_relaxed);
}

/* Asking twice does no harm. */
bool os_barrier_prepare(void) {
    int error;
    if (os_knows_of_filter() ||
        os_call(&error, SYS_membarrier, OS_MEMBARRIER_REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0) != 0)
        return false;
    atomic_store_explicit(&os_state.barrier, true, memory_order_relaxed);
    return true;
}

bool os_barrier_everywhere(void) {
    int error;
    return !os_knows_of_filter() && (os_barrier_ready() || os_barrier_prepare()) &&
           os_call(&error, SYS_membarrier, OS_MEMBARRIER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0) == 0;
}

void os_note_no_clock(void) {
    atomic_store_explicit(&os_state.stopped, os_now_ns(), memory_order_relaxed);
}

void os_note_filter(void) {
    atomic_store_explicit(&os_state.filtered, true, memory_order_relaxed);
    atomic_store_explicit(&os_state.named, OS_NO_NAMES, memory_order_relaxed);
}

void os_note_inherited_filter(void) {
    atomic_store_explicit(&os_state.inherits, true, memory_order_relaxed);
}

bool os_inherits_filter(void) {
    return atomic_load_explicit(&os_state.inherits, memory_order_relaxed) && !os_knows_of_filter();
}

bool os_is_filtered(void) {
    int error;
    return os_knows_of_filter() || os_call(&error, SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) != 0;
}

/* 3 since Linux 6.18: but for what is asked for. */
bool os_has_no_huge_pages(void) {
    int error;
    return os_is_filtered() || os_call(&error, SYS_prctl, PR_GET_THP_DISABLE, 0, 0, 0, 0, 0) == 1;
}

bool os_addresses_are_few(void) {
    struct rlimit limit;
    int error;
    return !os_is_filtered() && os_call(&error, SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit, 0, 0) == 0 &&
           limit.rlim_cur != RLIM_INFINITY;
}

void os_wake(_Atomic uint32_t *word, unsigned waiters) {
    int error;
    os_count(&os_counts.wake);
    os_call(&error, SYS_futex, (long)word, OS_FUTEX_WAKE_PRIVATE, waiters, 0, 0, 0);
}

bool os_secure(void) {
    return getauxval(AT_SECURE) != 0;
}

/* Behind argc and argv[argc] == NULL, where the kernel put it: for calls that come before libc has set
 * environ. */
static char **os_environment_of_kernel(void) {
    if (&__libc_stack_end == NULL || __libc_stack_end == NULL)
        return NULL;
    long *argc = __libc_stack_end;
    return (char **)(argc + 1) + *argc + 1;
}

const char *os_environment(size_t i) {
    char **first = environ != NULL ? environ : os_environment_of_kernel();
    return first != NULL ? first[i] : NULL;
}

const char *os_getenv(const char *name) {
    if (os_secure())
        return NULL;
    size_t length = strlen(name);
    const char *entry;
    for (size_t i = 0; (entry = os_environment(i)) != NULL; i++)
        if (strncmp(entry, name, length) == 0 && entry[length] == '=')
            return entry + length + 1;
    return NULL;
}

/* The value of a line of /proc/self/status, "VmHWM:     1234 kB", in bytes; 0 where there is none. */
static uint64_t os_status_bytes(const char *status, const char *name) {
    const char *at = strstr(status, name);
    uint64_t kib = 0;
    for (at = at ? at + strlen(name) : ""; *at == ' ' || *at == '\t'; at++) {
    }
    for (; *at >= '0' && *at <= '9'; at++)
        kib = kib * 10 + (uint64_t)(*at - '0');
    return kib * KIB;
}

size_t os_read_file(const char *path, char *text, size_t bytes) {
    int error, unused;
    size_t length = 0;
    long fd = os_call(&error, SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    os_count(&os_counts.file);
    text[0] = '\0';
    if (error != 0)
        return 0;
    while (length < bytes - 1) {
        long got = os_call(&error, SYS_read, fd, (long)(text + length), (long)(bytes - 1 - length), 0, 0, 0);
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    os_call(&unused, SYS_close, fd, 0, 0, 0, 0, 0);
    text[length] = '\0';
    return length;
}

static uint64_t os_time_ns(struct timeval time) {
    return (uint64_t)time.tv_sec * OS_NANOSECONDS + (uint64_t)time.tv_usec * 1000;
}

void os_read_usage(struct os_usage *usage) {
    struct rusage now;
    int error;
    memset(usage, 0, sizeof *usage);
    os_call(&error, SYS_getrusage, RUSAGE_SELF, (long)&now, 0, 0, 0, 0);
    if (error == 0) {
        usage->peak_rss_bytes = (uint64_t)now.ru_maxrss * KIB;
        usage->minor_faults = (uint64_t)now.ru_minflt;
        usage->major_faults = (uint64_t)now.ru_majflt;
        usage->user_ns = os_time_ns(now.ru_utime);
        usage->system_ns = os_time_ns(now.ru_stime);
    }
    /* ru_maxrss survives exec, so it may be the peak of the shell that started the program. */
    char status[2048];
    os_read_file("/proc/self/status", status, sizeof status);
    uint64_t peak = os_status_bytes(status, "VmHWM:");
    if (peak != 0)
        usage->peak_rss_bytes = peak;
    usage->rss_bytes = os_status_bytes(status, "VmRSS:");
}
