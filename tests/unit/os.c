/* Unit tests of os. The program has its own `syscall`, which passes calls on and can make one kind of call fail,
 * and its own getauxval. Counters are compared as differences, so that no test depends on another. */
#include "base.h"
#include "os.h"
#include "unit.h"
#include "../kernel_call.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PR_SET_VMA_NUMBER 0x53564d41

static struct {
    long number;        /* the call that fails, -1 for none */
    int error;          /* ... with this */
    int times;          /* ... so often */
    int skip;           /* ... after so many */
    bool skewed_maps;   /* the next mmap returns an address that is a page off MIB */
    bool unmaps_target; /* of an mremap, before it is refused */
    bool short_writes;
    int yields;
    unsigned long secure;
    const char *root;   /* what /proc and /sys are read from, NULL: the real ones */
    long no_huge_pages; /* what PR_GET_THP_DISABLE says */
    int processes;      /* prctl calls that were about something else than a name */
    long advice;        /* of the last madvise */
    size_t advised_bytes;
    uintptr_t named[8];
    int names;
} fake;

static int setup(void **state) {
    (void)state;
    memset(&fake, 0, sizeof fake);
    fake.number = -1;
    errno = 77;
    return 0;
}

static void refuse(long number, int error, int times) {
    fake.number = number;
    fake.error = error;
    fake.times = times;
}

unsigned long fake_getauxval(unsigned long type) {
    if (type == AT_SECURE)
        return fake.secure;
    return type == AT_PAGESZ ? (unsigned long)sysconf(_SC_PAGESIZE) : 0;
}

static long real_call(long number, long a, long b, long c, long d, long e, long f) {
    static long (*next)(long, ...);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    return next(number, a, b, c, d, e, f);
}

/* Maps a page more and returns what is not a multiple of MIB. */
static long skewed_map(long bytes, long c, long d, long e, long f) {
    long page = sysconf(_SC_PAGESIZE);
    long address = real_call(SYS_mmap, 0, bytes + page, c, d, e, f);
    bool skew = address % (long)MIB == 0;
    real_call(SYS_munmap, skew ? address : address + bytes, page, 0, 0, 0, 0);
    return skew ? address + page : address;
}

long syscall(long number, ...) {
    long a[6];
    KERNEL_WORDS(a, number);
    if (number == fake.number && fake.skip-- <= 0 && fake.times-- > 0) {
        if (number == SYS_mremap && fake.unmaps_target)
            real_call(SYS_munmap, a[4], a[2], 0, 0, 0, 0);
        errno = fake.error;
        return -1;
    }
    fake.yields += number == SYS_sched_yield;
    if (number == SYS_madvise) {
        fake.advice = a[2];
        fake.advised_bytes = (size_t)a[1];
    }
    if (number == SYS_prctl && a[0] == PR_GET_THP_DISABLE)
        return fake.no_huge_pages;
    if (number == SYS_prctl) {
        fake.processes += a[0] != PR_SET_VMA_NUMBER;
        fake.named[fake.names++ % 8] = (uintptr_t)a[2];
        return 0;
    }
    char path[300];
    if (number == SYS_openat && fake.root != NULL) {
        snprintf(path, sizeof path, "%s%s", fake.root, (const char *)a[1]);
        a[1] = (long)path;
    }
    if (number == SYS_mmap && fake.skewed_maps) {
        fake.skewed_maps = false;
        return skewed_map(a[1], a[2], a[3], a[4], a[5]);
    }
    if (number == SYS_write && fake.short_writes)
        a[2] = 1;
    return real_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static uint64_t mapped(void) {
    return atomic_load(&os_counts.mapped_bytes);
}

static void os_map_is_zeroed_and_counted(void **state) {
    (void)state;
    uint64_t before = mapped();
    uint64_t calls = atomic_load(&os_counts.map);
    unsigned char *p = os_map(MIB, NULL);
    assert_non_null(p);
    assert_int_equal(p[0] | p[MIB - 1], 0);
    p[MIB - 1] = 1;
    assert_int_equal(mapped() - before, MIB);
    assert_true(os_unmap(p, MIB));
    assert_int_equal(mapped(), before);
    assert_int_equal(atomic_load(&os_counts.map) - calls, 1);
}

static void os_P1_failures_keep_errno(void **state) {
    (void)state;
    unsigned char *p = os_map(MIB, NULL);
    uint64_t before = mapped();
    uint64_t failed = atomic_load(&os_counts.map_failed);
    refuse(SYS_mmap, ENOMEM, 1);
    assert_null(os_map(MIB, NULL));
    assert_int_equal(atomic_load(&os_counts.map_failed) - failed, 1);
    refuse(SYS_munmap, ENOMEM, 1);
    assert_false(os_unmap(p, MIB));
    refuse(SYS_mremap, ENOMEM, 1);
    assert_null(os_remap_away(p, MIB, 2 * MIB, MIB));
    refuse(SYS_mremap, ENOMEM, 1);
    assert_null(os_remap(p, MIB, 2 * MIB));
    refuse(SYS_madvise, EAGAIN, 1);
    assert_false(os_advise(p, MIB, OS_DONTNEED));
    assert_int_equal(errno, 77);
    assert_int_equal(mapped(), before);
    assert_true(os_unmap(p, MIB));
    assert_int_equal(errno, 77);
}

static void os_P3_aligned_map_trims_what_is_too_much(void **state) {
    (void)state;
    uint64_t before = mapped();
    uint64_t fallbacks = atomic_load(&os_counts.fallback_map);
    fake.skewed_maps = true;
    unsigned char *p = os_map_aligned(4 * MIB, MIB, NULL);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % MIB, 0);
    p[0] = p[4 * MIB - 1] = 1;
    assert_int_equal(atomic_load(&os_counts.fallback_map) - fallbacks, 1);
    assert_int_equal(mapped() - before, 4 * MIB);
    assert_true(os_unmap(p, 4 * MIB));
}

static void os_P3_aligned_map_fails_whole(void **state) {
    (void)state;
    uint64_t before = mapped();
    fake.skewed_maps = true;
    refuse(SYS_mmap, ENOMEM, 1);
    fake.skip = 1;
    assert_null(os_map_aligned(4 * MIB, MIB, NULL));
    assert_int_equal(mapped(), before);
    assert_null(os_map_aligned(SIZE_MAX - MIB, 4 * MIB, NULL));
    assert_int_equal(mapped(), before);
    assert_int_equal(errno, 77);
}

static void os_remap_keeps_content(void **state) {
    (void)state;
    uint64_t before = mapped();
    unsigned char *p = os_map(MIB, NULL);
    p[MIB - 1] = 5;
    p = os_remap_away(p, MIB, 8 * MIB, 4 * MIB);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % (4 * MIB), 0);
    assert_int_equal(p[MIB - 1], 5);
    assert_int_equal(p[8 * MIB - 1], 0);
    assert_int_equal(mapped() - before, 8 * MIB);
    assert_ptr_equal(os_remap(p, 8 * MIB, MIB), p);
    assert_int_equal(mapped() - before, MIB);
    assert_true(os_unmap(p, MIB));
}

static size_t resident_pages(void) {
    char text[128] = "";
    int fd = open("/proc/self/statm", O_RDONLY);
    assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strtoul(strchr(text, ' '), NULL, 10);
}

/* Wherever it came to lie: all that was written is there, and what was not takes no memory. */
static void os_remap_away_copies_no_zeros(void **state) {
    (void)state;
    enum { EVERY = 16, PAGES = 16384 };
    size_t page = os_page_size();
    unsigned char *p = os_map(PAGES * page, NULL);
    for (size_t i = 0; i < PAGES; i += EVERY)
        p[i * page] = (unsigned char)(i / EVERY % 255 + 1);
    size_t before = resident_pages();
    p = os_remap_away(p, PAGES * page, 2 * PAGES * page, PAGES * page);
    assert_non_null(p);
    for (size_t i = 0; i < PAGES; i++)
        assert_int_equal(p[i * page], i % EVERY == 0 ? i / EVERY % 255 + 1 : 0);
    /* What is shifted is written in two places, but for the most part of them it is as much. */
    assert_true(resident_pages() < before + 2 * PAGES / EVERY);
    assert_true(os_unmap(p, 2 * PAGES * page));
}

static void os_remap_to_a_target_of_ours(void **state) {
    (void)state;
    uint64_t before = mapped();
    unsigned char *from = os_map(MIB, NULL);
    unsigned char *target = os_map(2 * MIB, NULL);
    from[7] = 7;
    assert_ptr_equal(os_remap_to(from, MIB, 2 * MIB, target), target);
    assert_int_equal(target[7], 7);
    assert_int_equal(mapped() - before, 2 * MIB);
    assert_true(os_unmap(target, 2 * MIB));
    assert_int_equal(mapped(), before);
}

/* Kernels before 6.17 unmap the target first; the others and filters do not. */
static void os_target_of_a_refused_move_stays_mapped(void **state) {
    (void)state;
    unsigned char *from = os_map(MIB, NULL), *target = os_map(MIB, NULL);
    uint64_t before = mapped();
    for (int unmapped = 0; unmapped < 2; unmapped++) {
        target[5] = 5;
        fake.unmaps_target = unmapped;
        refuse(SYS_mremap, EFAULT, 1);
        assert_null(os_remap_to(from, MIB, MIB, target));
        assert_int_equal(target[5], unmapped ? 0 : 5);
        target[5] = 5;
        refuse(SYS_mremap, EFAULT, 1);
        assert_false(os_move_out(from, MIB, target));
        assert_int_equal(target[5], unmapped ? 0 : 5);
    }
    fake.unmaps_target = false;
    assert_int_equal(mapped(), before);
    assert_true(os_unmap(from, MIB) && os_unmap(target, MIB));
    assert_int_equal(errno, 77);
}

static void os_move_out_leaves_zeroes(void **state) {
    (void)state;
    unsigned char *from = os_map(2 * MIB, NULL), *target = os_map(2 * MIB, NULL);
    uint64_t before = mapped(), bytes = atomic_load(&os_counts.bytes[OS_REMAP]);
    memset(from, 7, 2 * MIB);
    assert_true(os_move_out(from + MIB / 2, MIB, target));
    assert_int_equal(target[0] + target[MIB - 1], 14);
    assert_int_equal(target[MIB], 0);
    assert_int_equal(from[MIB / 2 - 1] + from[MIB / 2 + MIB], 14);
    assert_int_equal(from[MIB / 2] + from[MIB / 2 + MIB - 1], 0);
    assert_int_equal(mapped(), before);
    assert_int_equal(atomic_load(&os_counts.bytes[OS_REMAP]) - bytes, MIB);
    uint64_t failed = atomic_load(&os_counts.remap_failed);
    refuse(SYS_mremap, ENOMEM, 1);
    assert_false(os_move_out(target, MIB, from));
    assert_int_equal(from[0] + target[0], 14);
    assert_int_equal(atomic_load(&os_counts.remap_failed) - failed, 1);
    assert_true(os_unmap(from, 2 * MIB) && os_unmap(target, 2 * MIB));
    assert_int_equal(errno, 77);
}

static void os_in_memory_says_which_pages(void **state) {
    (void)state;
    unsigned char present[4], *p = os_map(4 * os_page_size(), NULL);
    uint64_t looks = atomic_load(&os_counts.look);
    p[2 * os_page_size()] = 1;
    assert_true(os_in_memory(p, 4, present));
    assert_int_equal(present[2] & 1, 1);
    assert_true(os_unmap(p, 4 * os_page_size()));
    assert_false(os_in_memory(p, 4, present));
    assert_int_equal(atomic_load(&os_counts.look) - looks, 2);
    assert_int_equal(errno, 77);
}

static int answers(void *wanted) {
    return os_shares_memory() == *(bool *)wanted ? 0 : 1;
}

/* Of a child of clone(2) and of one that has its parent's memory. */
static void os_tells_whose_memory_a_child_has(void **state) {
    (void)state;
    static unsigned char stack[64 << 10] __attribute__((aligned(64)));
    for (int shares = 0; shares < 2; shares++) {
        bool wanted = shares;
        int status, flags = SIGCHLD | (shares ? CLONE_VM | CLONE_VFORK : 0);
        int pid = clone(answers, stack + sizeof stack, flags, &wanted);
        assert_true(pid > 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    refuse(SYS_kcmp, ENOSYS, 1);
    assert_true(os_shares_memory());
    refuse(SYS_prctl, EPERM, 1); /* a filter, which may kill for asking */
    assert_true(os_shares_memory());
}

/* For good, so it is asked in a child. */
static void os_time_stands_still_where_it_may_not_be_read(void **state) {
    (void)state;
    int status, pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        uint64_t before = os_now_ns();
        os_note_no_clock();
        uint64_t noted = os_now_ns();
        usleep(2000);
        _exit(noted >= before && os_now_ns() == noted ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Where a filter looks on, by the file that says it, too. */
static void os_in_memory_asks_a_file_under_a_filter(void **state) {
    (void)state;
    enum { PAGES = 300 };
    unsigned char present[PAGES], *p = os_map(PAGES * os_page_size(), NULL);
    uint64_t files = atomic_load(&os_counts.file);
    for (size_t i = 0; i < PAGES; i += 7)
        p[i * os_page_size()] = 1;
    refuse(SYS_prctl, EPERM, 1);
    assert_true(os_in_memory(p, PAGES, present));
    assert_true(atomic_load(&os_counts.file) > files);
    for (size_t i = 0; i < PAGES; i++)
        assert_int_equal(present[i], i % 7 == 0);
    assert_true(os_unmap(p, PAGES * os_page_size()));
}

static void os_advice_gives_memory_back(void **state) {
    (void)state;
    unsigned char *p = os_map(MIB, NULL);
    uint64_t decommits = atomic_load(&os_counts.decommit);
    p[0] = 1;
    assert_true(os_advise(p, MIB, OS_DONTNEED));
    assert_int_equal(p[0], 0);
    p[0] = 1;
    refuse(SYS_madvise, EINVAL, 1);
    assert_true(os_advise(p, MIB, OS_FREE));
    assert_int_equal(p[0], 0);
    assert_int_equal(atomic_load(&os_counts.decommit) - decommits, 2);
    assert_true(os_unmap(p, MIB));
}

static void os_P4_a_refusal_for_good_is_remembered(void **state) {
    (void)state;
    unsigned char *p = os_map(MIB, NULL);
    uint64_t enomem = atomic_load(&os_counts.advise_enomem);
    refuse(SYS_madvise, ENOMEM, 1);
    assert_false(os_advise(p, MIB, OS_COLLAPSE));
    assert_int_equal(atomic_load(&os_counts.advise_enomem) - enomem, 1);
    assert_int_equal(atomic_load(&os_counts.advise_disabled), 0);
    refuse(SYS_madvise, ENOSYS, 1);
    assert_false(os_advise(p, MIB, OS_COLLAPSE));
    uint64_t calls = atomic_load(&os_counts.advise);
    assert_false(os_advise(p, MIB, OS_COLLAPSE));
    assert_int_equal(atomic_load(&os_counts.advise), calls);
    assert_int_equal(atomic_load(&os_counts.advise_disabled), 1);
    assert_true(os_advise(p, MIB, OS_DONTNEED));
    assert_true(os_unmap(p, MIB));
}

static void os_write_writes_all_of_it(void **state) {
    (void)state;
    int ends[2];
    char text[8] = "";
    assert_int_equal(pipe(ends), 0);
    fake.short_writes = true;
    refuse(SYS_write, EINTR, 2);
    os_write(ends[1], "abcde", 5);
    assert_int_equal(read(ends[0], text, sizeof text), 5);
    assert_string_equal(text, "abcde");
    refuse(SYS_write, EBADF, 1);
    os_write(ends[1], "x", 1);
    assert_int_equal(errno, 77);
    close(ends[0]);
    close(ends[1]);
}

static void os_P5_a_privileged_process_sees_no_environment(void **state) {
    (void)state;
    char *mine[] = {"HAKMEM_ONE=1", "HAKMEM_ON=2", NULL};
    char **kept = environ;
    environ = mine;
    const char *plain = os_getenv("HAKMEM_ON");
    const char *missing = os_getenv("HAKMEM_O");
    const char *second = os_environment(1);
    const char *end = os_environment(2);
    fake.secure = 1;
    const char *secure = os_getenv("HAKMEM_ON");
    bool told = os_secure();
    environ = kept;
    assert_string_equal(plain, "2");
    assert_null(missing);
    assert_string_equal(second, mine[1]);
    assert_null(end);
    assert_null(secure);
    assert_true(told);
}

static void os_P2_the_environment_before_libc_is_the_kernels(void **state) {
    (void)state;
    char **kept = environ;
    char *first = environ[0];
    environ = NULL;
    const char *found = os_environment(0);
    environ = kept;
    assert_ptr_equal(found, first);
}

static void os_random_without_the_kernel(void **state) {
    (void)state;
    refuse(SYS_getrandom, ENOSYS, 2);
    uint64_t a = os_random();
    uint64_t b = os_random();
    assert_int_not_equal(a, b);
    assert_int_equal(fake.times, 0);
    assert_int_not_equal(os_random(), os_random());
    assert_int_equal(errno, 77);
}

static void os_wait_returns_when_the_word_has_changed(void **state) {
    (void)state;
    _Atomic uint32_t word = 1;
    os_wait(&word, 2);
    os_wake(&word, 1);
    assert_int_equal(fake.yields, 0);
    refuse(SYS_futex, EPERM, 1);
    os_wait(&word, 1);
    assert_int_equal(fake.yields, 1);
    assert_int_equal(errno, 77);
}

static void os_usage_of_this_process(void **state) {
    (void)state;
    struct os_usage usage;
    os_read_usage(&usage);
    assert_true(usage.peak_rss_bytes > 0);
    assert_true(usage.rss_bytes > 0 || access("/proc/self/statm", R_OK) != 0);
    refuse(SYS_openat, ENOENT, 1);
    os_read_usage(&usage);
    assert_int_equal(usage.rss_bytes, 0);
    uint64_t before = os_now_ns();
    assert_true(before > 0);
    assert_true(os_now_ns() >= before);
}

/* ---- names ---- */

static void os_the_first_mapping_waits_for_its_name(void **state) {
    (void)state;
    unsigned char *p[4];
    for (int i = 0; i < 4; i++)
        assert_non_null(p[i] = os_map(MIB, NULL));
    os_name(p[0], MIB, OS_SLABS);
    assert_int_equal(fake.names, 0); /* not wanted */
    os_configure(true, false);
    os_name(p[0], MIB, OS_SLABS);
    assert_int_equal(fake.names, 0);
    os_name(p[1], MIB, OS_LARGE);
    assert_int_equal(fake.names, 2);
    assert_int_equal(fake.named[0], (uintptr_t)p[0]);
    assert_int_equal(fake.named[1], (uintptr_t)p[1]);
    os_name(p[2], MIB, OS_RECORDS);
    assert_int_equal(fake.names, 3);
    for (int i = 0; i < 4; i++)
        assert_true(os_unmap(p[i], MIB));
    assert_int_equal(errno, 77);
}

static void os_P7_only_names_by_prctl_and_only_until_refused(void **state) {
    (void)state;
    unsigned char *p = os_map(4 * MIB, NULL);
    os_configure(true, false);
    uint64_t asked = atomic_load(&os_counts.name);
    refuse(SYS_prctl, EINVAL, 1);
    os_name(p, 4 * MIB, OS_SLABS);
    os_name(p, 4 * MIB, OS_SLABS);
    assert_int_equal(atomic_load(&os_counts.name) - asked, 1);
    assert_true(os_advise(p, 4 * MIB, OS_HUGE) || errno == 77); /* a kernel without huge pages */
    assert_int_equal(fake.advice, MADV_HUGEPAGE);
    assert_true(os_advise(p, 4 * MIB, OS_SMALL) || errno == 77);
    assert_int_equal(fake.advice, MADV_NOHUGEPAGE);
    os_advise(p, 4 * MIB, OS_DONTNEED);
    assert_int_equal(fake.advice, MADV_DONTNEED);
    uint64_t advised = atomic_load(&os_counts.advise);
    os_keep_small(p + 1, 4 * MIB - 2); /* whole pages of it */
    assert_int_equal(fake.advice, MADV_NOHUGEPAGE);
    assert_int_equal(fake.advised_bytes, 4 * MIB - 2 * os_page_size());
    assert_int_equal(atomic_load(&os_counts.advise) - advised, 1);
    os_advise(p, 4 * MIB, OS_FREE);
    assert_int_equal(fake.advice, MADV_FREE);
    assert_int_equal(fake.processes, 0);
    os_configure(false, false);
    assert_true(os_unmap(p, 4 * MIB));
    assert_int_equal(errno, 77);
}

/* ---- what calls cost ---- */

static void os_bytes_and_time_by_kind(void **state) {
    (void)state;
    uint64_t maps = atomic_load(&os_counts.bytes[OS_MAP]), ns = atomic_load(&os_counts.ns[OS_ADVISE]);
    unsigned char *p = os_map(MIB, NULL);
    assert_int_equal(atomic_load(&os_counts.bytes[OS_MAP]) - maps, MIB);
    os_advise(p, MIB, OS_DONTNEED);
    assert_int_equal(atomic_load(&os_counts.ns[OS_ADVISE]), ns);
    os_configure(false, true);
    uint64_t advised = atomic_load(&os_counts.bytes[OS_ADVISE]);
    for (int i = 0; i < 100; i++)
        os_advise(p, 64 * KIB, OS_DONTNEED);
    assert_int_equal(atomic_load(&os_counts.bytes[OS_ADVISE]) - advised, 100 * 64 * KIB);
    assert_true(atomic_load(&os_counts.ns[OS_ADVISE]) > ns);
    refuse(SYS_madvise, ENOMEM, 1);
    advised = atomic_load(&os_counts.bytes[OS_ADVISE]);
    os_advise(p, MIB, OS_DONTNEED);
    assert_int_equal(atomic_load(&os_counts.bytes[OS_ADVISE]), advised);
    os_configure(false, false);
    assert_true(os_unmap(p, MIB));
}

/* ---- the place ---- */

/* A tree of files that stands for /proc and /sys. */
static char place[] = "/tmp/hakmem-place-XXXXXX";

static void put(const char *path, const char *text) {
    char full[300];
    int kept = errno;
    snprintf(full, sizeof full, "%s%s", place, path);
    for (char *at = strchr(full + sizeof place - 1 + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(full, 0700);
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    errno = kept;
}

static void remove_tree(const char *path) {
    char full[300];
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(full, sizeof full, "%.150s/%.100s", path, entry->d_name);
        if (unlink(full) != 0)
            remove_tree(full);
    }
    if (directory != NULL)
        closedir(directory);
    rmdir(path);
}

static int setup_place(void **state) {
    strcpy(place + sizeof place - 7, "XXXXXX");
    int failed = mkdtemp(place) == NULL || setup(state);
    fake.root = place;
    atomic_store(&os_cpus, 0);
    return failed;
}

static int remove_place(void **state) {
    (void)state;
    fake.root = NULL;
    remove_tree(place);
    return 0;
}

static void os_cgroup_the_smallest_on_the_path(void **state) {
    (void)state;
    char path[100];
    put("/proc/self/cgroup", "0::/a/b\n");
    assert_int_equal(os_cgroup_least("memory.max", NULL), OS_NO_LIMIT);
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    assert_int_equal(os_cgroup_least("memory.max", NULL), OS_NO_LIMIT);
    put("/sys/fs/cgroup/a/memory.max", "1073741824\n");
    assert_int_equal(os_cgroup_least("memory.max", NULL), GIB);
    put("/sys/fs/cgroup/a/b/memory.max", "2147483648\n");
    assert_int_equal(os_cgroup_least("memory.max", NULL), GIB);
    put("/sys/fs/cgroup/memory.max", "4096\n"); /* the root that a container sees */
    assert_int_equal(os_cgroup_least("memory.max", NULL), 4096);
    assert_true(os_cgroup_path("memory.pressure", 0, path, sizeof path));
    assert_string_equal(path, "/sys/fs/cgroup/a/b/memory.pressure");
    assert_false(os_cgroup_path("memory.pressure", 0, path, 10));
    unsigned above = 7;
    assert_int_equal(os_cgroup_least("memory.max", &above), 4096);
    assert_int_equal(above, 2);
    put("/sys/fs/cgroup/memory.max", "max\n");
    assert_int_equal(os_cgroup_least("memory.max", &above), GIB);
    assert_int_equal(above, 1);
    assert_true(os_cgroup_path("memory.pressure", above, path, sizeof path));
    assert_string_equal(path, "/sys/fs/cgroup/a/memory.pressure");
    assert_true(os_cgroup_path("memory.pressure", 2, path, sizeof path));
    assert_string_equal(path, "/sys/fs/cgroup/memory.pressure");
    assert_false(os_cgroup_path("memory.pressure", 3, path, sizeof path));
    assert_int_equal(os_cgroup_least("memory.high", &above), OS_NO_LIMIT);
    assert_int_equal(above, 0);
    assert_int_equal(errno, 77);
}

static void os_huge_pages_unasked(void **state) {
    (void)state;
    assert_int_equal(os_huge_pages(), OS_HUGE_ASKED); /* nothing is said */
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    assert_int_equal(os_huge_pages(), OS_HUGE_ASKED);
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
    assert_int_equal(os_huge_pages(), OS_HUGE_NEVER);
    put("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
    assert_int_equal(os_huge_pages(), OS_HUGE_UNASKED);
    assert_int_equal(errno, 77);
}

static void os_cgroup_of_the_root_and_of_version_1(void **state) {
    (void)state;
    put("/sys/fs/cgroup/memory.max", "8192\n");
    assert_int_equal(os_cgroup_least("memory.max", NULL), OS_NO_LIMIT); /* no /proc */
    put("/proc/self/cgroup", "4:memory:/x\n3:cpuset:/\n");
    assert_int_equal(os_cgroup_least("memory.max", NULL), OS_NO_LIMIT);
    put("/proc/self/cgroup", "4:memory:/x\n0::/\n");
    assert_int_equal(os_cgroup_least("memory.max", NULL), 8192);
    put("/proc/self/cgroup", "0::/gone/from/here\n"); /* as seen from the host */
    assert_int_equal(os_cgroup_least("memory.max", NULL), 8192);
    put("/sys/fs/cgroup/memory.max", "99999999999999999999999\n");
    assert_int_equal(os_cgroup_least("memory.max", NULL), OS_NO_LIMIT);
    put("/sys/fs/cgroup/memory.max", "");
    assert_int_equal(os_cgroup_least("memory.max", NULL), OS_NO_LIMIT);
}

static void os_cgroup_a_path_that_is_too_long(void **state) {
    (void)state;
    char line[3000] = "0::";
    for (size_t i = 3; i < sizeof line - 2; i++)
        line[i] = i % 100 == 3 ? '/' : 'x';
    put("/proc/self/cgroup", line);
    put("/sys/fs/cgroup/memory.max", "8192\n");
    assert_int_equal(os_cgroup_least("memory.max", NULL), OS_NO_LIMIT);
    line[1010] = '\n';
    line[1011] = '\0';
    put("/proc/self/cgroup", line);
    assert_int_equal(os_cgroup_least("memory.max", NULL), OS_NO_LIMIT);
}

static void os_cpus_of_the_mask_and_of_the_cgroup(void **state) {
    (void)state;
    unsigned mask = os_affinity();
    assert_true(mask >= 1);
    assert_int_equal(os_cpu_count(), mask);
    put("/proc/self/cgroup", "0::/a\n");
    put("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    assert_int_equal(os_cpu_count(), mask); /* remembered */
    atomic_store(&os_cpus, 0);
    assert_int_equal(os_cpu_count(), mask < 2 ? mask : 2); /* 1.5, rounded up */
    atomic_store(&os_cpus, 0);
    put("/sys/fs/cgroup/cpu.max", "20000 100000\n");
    assert_int_equal(os_cpu_count(), 1);
    atomic_store(&os_cpus, 0);
    put("/sys/fs/cgroup/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    refuse(SYS_sched_getaffinity, EPERM, 1);
    assert_int_equal(os_cpu_count(), 1);
    assert_int_equal(errno, 77);
}

static void os_mappings_are_counted(void **state) {
    (void)state;
    assert_int_equal(os_mappings(), 0);
    assert_int_equal(os_mappings_allowed(), 0);
    put("/proc/self/maps", "1\n2\n3\n");
    put("/proc/sys/vm/max_map_count", "65530\n");
    assert_int_equal(os_mappings(), 3);
    assert_int_equal(os_mappings_allowed(), 65530);
    assert_int_equal(errno, 77);
}

static void *os_not_alone(void *unused) {
    assert_false(os_is_alone(true));
    return unused;
}

extern char __libc_single_threaded;

/* The first of all tests: the others have threads. */
static void os_alone_is_who_libc_says_so_of(void **state) {
    (void)state;
    assert_true(__libc_single_threaded);
    refuse(SYS_newfstatat, ENOENT, 1);
    assert_true(os_is_alone(true));
}

static void os_alone_is_who_has_no_other_thread(void **state) {
    (void)state;
    pthread_t thread;
    assert_true(os_is_alone(true));
    assert_int_equal(pthread_create(&thread, NULL, os_not_alone, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (unsigned i = 0; i < 10000 && !os_is_alone(true); i++)
        usleep(1000); /* the kernel takes a moment; libc says from now on that there may be others */
    assert_true(os_is_alone(true));
    assert_false(os_is_alone(false));
    refuse(SYS_newfstatat, ENOENT, 1);
    assert_false(os_is_alone(true));
    assert_int_equal(errno, 77);
}

static void os_trigger_is_written_and_kept_apart(void **state) {
    (void)state;
    char text[32];
    assert_int_equal(os_open_trigger("/pressure", "some 1 2"), -1);
    put("/pressure", "");
    put("/other", "");
    int fd = os_open_trigger("/pressure", "some 1 2");
    assert_true(fd >= 100);
    assert_int_equal(os_read_file("/pressure", text, sizeof text),
                     9); /* the kernel wants the final zero, too */
    assert_string_equal(text, "some 1 2");
    assert_false(os_wait_trigger(fd, 1000000)); /* this file never fires; it is slept all the same */
    uint64_t id = os_file_id(fd);
    int other = os_open_trigger("/other", "");
    assert_int_equal(os_file_id(fd), id);
    assert_int_not_equal(id, 0);
    assert_int_not_equal(os_file_id(other), id);
    close(fd);
    close(other);
    assert_int_equal(os_file_id(fd), 0);
    refuse(SYS_write, EINVAL, 1);
    assert_int_equal(os_open_trigger("/pressure", "some 1 2"), -1);
    refuse(SYS_fcntl, EMFILE, 1);
    assert_int_equal(os_open_trigger("/pressure", "some 1 2"), -1);
}

/* Nobody is asked where a filter looks on, and then there are as many as one likes. */
static void os_addresses_are_few_where_they_are_bounded(void **state) {
    (void)state;
    struct rlimit before, bounded;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    bounded = (struct rlimit){(rlim_t)1 << 40, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &bounded), 0);
    assert_int_equal(os_addresses_are_few(), !os_is_filtered());
    refuse(SYS_prlimit64, EPERM, 1);
    assert_false(os_addresses_are_few());
    setup(state);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    if (before.rlim_cur == RLIM_INFINITY)
        assert_false(os_addresses_are_few());
}

static void os_has_no_huge_pages_where_they_are_disabled(void **state) {
    (void)state;
    assert_false(os_has_no_huge_pages());
    fake.no_huge_pages = 1;
    assert_true(os_has_no_huge_pages());
    fake.no_huge_pages = 3; /* but for what is asked for */
    assert_false(os_has_no_huge_pages());
    fake.no_huge_pages = 0;
    refuse(SYS_prctl, EPERM, 1); /* a filter */
    assert_true(os_has_no_huge_pages());
}

/* The program is what this one is linked into. */
static void os_elsewhere_is_another_library(void **state) {
    (void)state;
    assert_true(os_is_elsewhere((const void *)(uintptr_t)&_cmocka_run_group_tests));
    assert_false(os_is_elsewhere((const void *)(uintptr_t)&setup));
    assert_false(os_is_elsewhere((const void *)(uintptr_t)&pthread_attr_setstacksize));
    assert_false(os_is_elsewhere((const void *)os_linker()));
    assert_false(os_is_elsewhere(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(os_addresses_are_few_where_they_are_bounded, setup),
        cmocka_unit_test_setup(os_has_no_huge_pages_where_they_are_disabled, setup),
        cmocka_unit_test_setup(os_alone_is_who_libc_says_so_of, setup),
        cmocka_unit_test_setup(os_elsewhere_is_another_library, setup),
        cmocka_unit_test_setup(os_map_is_zeroed_and_counted, setup),
        cmocka_unit_test_setup(os_P1_failures_keep_errno, setup),
        cmocka_unit_test_setup(os_P3_aligned_map_trims_what_is_too_much, setup),
        cmocka_unit_test_setup(os_P3_aligned_map_fails_whole, setup),
        cmocka_unit_test_setup(os_remap_keeps_content, setup),
        cmocka_unit_test_setup(os_remap_away_copies_no_zeros, setup),
        cmocka_unit_test_setup(os_remap_to_a_target_of_ours, setup),
        cmocka_unit_test_setup(os_target_of_a_refused_move_stays_mapped, setup),
        cmocka_unit_test_setup(os_move_out_leaves_zeroes, setup),
        cmocka_unit_test_setup(os_in_memory_says_which_pages, setup),
        cmocka_unit_test_setup(os_in_memory_asks_a_file_under_a_filter, setup),
        cmocka_unit_test_setup(os_tells_whose_memory_a_child_has, setup),
        cmocka_unit_test_setup(os_time_stands_still_where_it_may_not_be_read, setup),
        cmocka_unit_test_setup(os_advice_gives_memory_back, setup),
        cmocka_unit_test_setup(os_P4_a_refusal_for_good_is_remembered, setup),
        cmocka_unit_test_setup(os_write_writes_all_of_it, setup),
        cmocka_unit_test_setup(os_P5_a_privileged_process_sees_no_environment, setup),
        cmocka_unit_test_setup(os_P2_the_environment_before_libc_is_the_kernels, setup),
        cmocka_unit_test_setup(os_random_without_the_kernel, setup),
        cmocka_unit_test_setup(os_wait_returns_when_the_word_has_changed, setup),
        cmocka_unit_test_setup(os_usage_of_this_process, setup),
        cmocka_unit_test_setup(os_the_first_mapping_waits_for_its_name, setup),
        cmocka_unit_test_setup(os_P7_only_names_by_prctl_and_only_until_refused, setup),
        cmocka_unit_test_setup(os_bytes_and_time_by_kind, setup),
        cmocka_unit_test_setup_teardown(os_cgroup_the_smallest_on_the_path, setup_place, remove_place),
        cmocka_unit_test_setup_teardown(os_cgroup_of_the_root_and_of_version_1, setup_place, remove_place),
        cmocka_unit_test_setup_teardown(os_huge_pages_unasked, setup_place, remove_place),
        cmocka_unit_test_setup_teardown(os_cgroup_a_path_that_is_too_long, setup_place, remove_place),
        cmocka_unit_test_setup_teardown(os_cpus_of_the_mask_and_of_the_cgroup, setup_place, remove_place),
        cmocka_unit_test_setup_teardown(os_mappings_are_counted, setup_place, remove_place),
        cmocka_unit_test_setup(os_alone_is_who_has_no_other_thread, setup),
        cmocka_unit_test_setup_teardown(os_trigger_is_written_and_kept_apart, setup_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
