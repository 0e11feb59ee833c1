/*
 * manners: which advice and which process-wide settings does the library ever ask the kernel for?
 *
 * The program has its own syscall(), through which the library makes its calls. While it grows, shrinks, forks and
 * trims, every prctl must ask, or be the name of a mapping, or of the calling thread where that is not the program's; by default
 * advice is DONTNEED, HUGEPAGE and NOHUGEPAGE, with HAKMEM_DECOMMIT=FREE it is FREE and those two; and all of it lies in
 * mappings that the library made, but for NOHUGEPAGE for its own tables. What is written when it is asked for (POPULATE)
 * and what the janitor makes of areas that stay in use while it looks on (COLLAPSE: seldom, unless the machine is slow)
 * comes to it.
 */
#include "limits.h"
#include "../kernel_call.h"
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum {
    POPULATE = 23,
    COLLAPSE = 25
}; /* MADV_POPULATE_WRITE and MADV_COLLAPSE, which older headers do not have */
enum { MAPPINGS = 4096, NAME_A_MAPPING = 0x53564d41, ADVICE_KINDS = 64, DONT_UNMAP = 4 };

/* What the library has mapped, a range each, under a lock of its own. */
static struct {
    pthread_mutex_t lock;
    size_t count;
    struct {
        uintptr_t start, end;
    } ranges[MAPPINGS];
    int advice[ADVICE_KINDS];
    bool outside, other_setting;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void enter_range(uintptr_t start, uintptr_t end) {
    size_t i = 0;
    while (i < seen.count && seen.ranges[i].start != seen.ranges[i].end)
        i++;
    CHECK(i < MAPPINGS);
    seen.count += i == seen.count;
    seen.ranges[i].start = start;
    seen.ranges[i].end = end;
}

static void leave_range(uintptr_t start, uintptr_t end) {
    for (size_t i = 0; i < seen.count; i++) {
        uintptr_t from = seen.ranges[i].start, to = seen.ranges[i].end;
        if (from >= end || to <= start)
            continue;
        seen.ranges[i].start = seen.ranges[i].end = 0;
        if (from < start)
            enter_range(from, start);
        if (to > end)
            enter_range(end, to);
    }
}

/* Ranges may touch: what lies in two of them is inside, too. */
static bool inside(uintptr_t start, uintptr_t end) {
    while (start < end) {
        uintptr_t next = start;
        for (size_t i = 0; i < seen.count; i++)
            if (seen.ranges[i].start <= start && seen.ranges[i].end > next)
                next = seen.ranges[i].end;
        if (next == start)
            return false;
        start = next;
    }
    return true;
}

/* The library's own tables are its too, if not by a mapping: huge pages are kept out of them. */
static bool in_library(uintptr_t address) {
    Dl_info there, library;
    return dladdr((void *)address, &there) != 0 && dladdr(dlsym(RTLD_DEFAULT, "malloc"), &library) != 0 &&
           there.dli_fbase == library.dli_fbase;
}

static bool in_table(long advice, uintptr_t start, uintptr_t end) {
    return advice == MADV_NOHUGEPAGE && in_library(start) && in_library(end - 1);
}

static long pass_on(long number, const long *a) {
    static long (*next)(long, ...);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void look(long number, const long *a, long result) {
    uintptr_t start = (uintptr_t)a[0], end = start + (uintptr_t)a[1];
    if (number == SYS_mmap && result != -1)
        enter_range((uintptr_t)result, (uintptr_t)(result + a[1]));
    if (number == SYS_munmap && result == 0)
        leave_range(start, end);
    if (number == SYS_mremap && result != -1) {
        if (!(a[3] & DONT_UNMAP))
            leave_range(start, end);
        leave_range((uintptr_t)result, (uintptr_t)(result + a[2]));
        enter_range((uintptr_t)result, (uintptr_t)(result + a[2]));
    }
    if (number == SYS_madvise) {
        seen.outside |= !inside(start, end) && !in_table(a[2], start, end);
        if (a[2] >= 0 && a[2] < ADVICE_KINDS)
            seen.advice[a[2]]++;
    }
    seen.other_setting |= number == SYS_prctl && a[0] != NAME_A_MAPPING && a[0] != PR_GET_SECCOMP &&
                          a[0] != PR_GET_THP_DISABLE /* they ask */ &&
                          !(a[0] == PR_SET_NAME && gettid() != getpid());
}

long syscall(long number, ...) {
    long a[6];
    KERNEL_WORDS(a, number);
    bool watched = number == SYS_mmap || number == SYS_munmap || number == SYS_mremap ||
                   number == SYS_madvise || number == SYS_prctl;
    if (!watched)
        return pass_on(number, a);
    pthread_mutex_lock(&seen.lock);
    long result = pass_on(number, a);
    int kept = errno;
    look(number, a, result);
    errno = kept;
    pthread_mutex_unlock(&seen.lock);
    return result;
}

static void work(void) {
    use_heap();
    drop(hold(200, 60 * MIB));
    drop(hold(3 * MIB, 60 * MIB));
    drop(hold(100000, 60 * MIB));
    malloc_trim(0);
    use_heap();
    malloc_trim(0);
}

static void expect(int asked, int other) {
    CHECK(!seen.outside && !seen.other_setting);
    CHECK(seen.advice[asked] > 0 && seen.advice[other] == 0);
    for (int kind = 0; kind < ADVICE_KINDS; kind++)
        CHECK(kind == asked || kind == MADV_HUGEPAGE || kind == MADV_NOHUGEPAGE || kind == POPULATE ||
              kind == COLLAPSE || seen.advice[kind] == 0);
}

int main(int argc, char **argv) {
    static const char *const lazily[] = {"HAKMEM_DECOMMIT=FREE", "HAKMEM_KEEP_FREE=4m", NULL};
    static const char *const at_once[] = {"HAKMEM_KEEP_FREE=4m", NULL};

    if (argc > 1) {
        work();
        if (seen.count == 0)
            skip("the library does not make its calls through this program's syscall()");
        if (strcmp(argv[1], "free") == 0)
            expect(MADV_FREE, MADV_DONTNEED);
        else
            expect(MADV_DONTNEED, MADV_FREE);
        return 0;
    }
    run_role("dontneed", at_once, 0);
    run_role("free", lazily, 0);
    return 0;
}
