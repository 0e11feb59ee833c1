/* Unit tests of os. The program has its own `syscall`, which passes calls on and can make one kind of call fail,
 * and its own getauxval. Counters are compared as differences, so that no test depends on another. */
#include "base.h"
#include "os.h"
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    long number;      /* the call that fails, -1 for none */
    int error;        /* ... with this */
    int times;        /* ... so often */
    int skip;         /* ... after so many */
    bool skewed_maps; /* the next mmap returns an address that is a page off MIB */
    bool short_writes;
    int yields;
    unsigned long secure;
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
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == fake.number && fake.skip-- <= 0 && fake.times-- > 0) {
        errno = fake.error;
        return -1;
    }
    fake.yields += number == SYS_sched_yield;
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
    assert_null(os_remap(p, MIB, 2 * MIB, true));
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
    p = os_remap(p, MIB, 8 * MIB, true);
    assert_non_null(p);
    assert_int_equal(p[MIB - 1], 5);
    assert_int_equal(p[8 * MIB - 1], 0);
    assert_int_equal(mapped() - before, 8 * MIB);
    assert_ptr_equal(os_remap(p, 8 * MIB, MIB, false), p);
    assert_int_equal(mapped() - before, MIB);
    assert_true(os_unmap(p, MIB));
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(os_map_is_zeroed_and_counted, setup),
        cmocka_unit_test_setup(os_P1_failures_keep_errno, setup),
        cmocka_unit_test_setup(os_P3_aligned_map_trims_what_is_too_much, setup),
        cmocka_unit_test_setup(os_P3_aligned_map_fails_whole, setup),
        cmocka_unit_test_setup(os_remap_keeps_content, setup),
        cmocka_unit_test_setup(os_remap_to_a_target_of_ours, setup),
        cmocka_unit_test_setup(os_advice_gives_memory_back, setup),
        cmocka_unit_test_setup(os_P4_a_refusal_for_good_is_remembered, setup),
        cmocka_unit_test_setup(os_write_writes_all_of_it, setup),
        cmocka_unit_test_setup(os_P5_a_privileged_process_sees_no_environment, setup),
        cmocka_unit_test_setup(os_P2_the_environment_before_libc_is_the_kernels, setup),
        cmocka_unit_test_setup(os_random_without_the_kernel, setup),
        cmocka_unit_test_setup(os_wait_returns_when_the_word_has_changed, setup),
        cmocka_unit_test_setup(os_usage_of_this_process, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
