/* os: every system call, the clock, the environment and entropy; and a count of each.
 *
 * Owns the way to the kernel. All calls for memory go through libc's syscall(), so that a preloaded shim of
 * that one name can make any of them fail. Another operating system is another os_*.c behind this header.
 *
 * P1  no function here changes errno: failure is a return value, and the caller decides what it means.
 * P2  no function here allocates or takes a lock; each is safe before libc is initialised and in a signal
 *     handler.
 * P3  os_map_aligned returns an aligned address and keeps no spare mapping, or returns NULL.
 * P4  a refusal for good (ENOSYS, EPERM) of one kind of advice is remembered: it is not asked for again.
 * P5  when the process runs with more rights than its user (setuid), os_getenv sees nothing.
 * P6  advice is given only on memory that this room mapped and has not unmapped (asserted in the check variant), but for
 *     os_keep_small.
 * P7  nothing here changes what holds for the whole process: huge pages are asked for by madvise, a prctl only
 *     asks, or names our own mappings, and not any more once that was refused.
 *
 * os_linux.c makes the calls; os_place.c asks what the place allows: the cgroup, CPUs, mappings; os_thread.c
 * looks at other threads. Called by metadata, superslab, large, limit, reach, stats, log, lock, options. Never reads an option: it is
 * told.
 */
#ifndef HAKMEM_OS_H
#define HAKMEM_OS_H

#include "base.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum os_advice { OS_DONTNEED, OS_FREE, OS_HUGE, OS_SMALL, OS_COLLAPSE, OS_POPULATE };
enum os_use { OS_SLABS, OS_LARGE, OS_RECORDS }; /* what a mapping is for, as its name says */
enum os_kind { OS_MAP, OS_UNMAP, OS_REMAP, OS_ADVISE, OS_KINDS };

/* Relaxed counters, exact: one addition per system call. Failed calls are counted in both columns. */
struct os_counts {
    _Atomic uint64_t map;             /* mmap calls */
    _Atomic uint64_t map_failed;      /* ... that failed */
    _Atomic uint64_t fallback_map;    /* aligned maps that had to over-map and trim */
    _Atomic uint64_t unmap;           /* munmap calls */
    _Atomic uint64_t unmap_failed;    /* ... that failed: the range stays mapped */
    _Atomic uint64_t remap;           /* mremap calls */
    _Atomic uint64_t remap_failed;    /* ... that failed */
    _Atomic uint64_t advise;          /* madvise calls */
    _Atomic uint64_t advise_enomem;   /* ... that failed with ENOMEM */
    _Atomic uint64_t advise_other;    /* ... that failed for another reason */
    _Atomic uint64_t advise_disabled; /* advice not asked for, because it was refused for good */
    _Atomic uint64_t huge;            /* advice for huge pages that was taken */
    _Atomic uint64_t huge_failed;     /* ... that was refused */
    _Atomic uint64_t decommit;        /* ranges given back by OS_DONTNEED or OS_FREE */
    _Atomic uint64_t mapped_bytes;    /* bytes mapped through this room now */
    _Atomic uint64_t bytes[OS_KINDS]; /* that successful calls of each kind were for */
    _Atomic uint64_t ns[OS_KINDS];    /* spent in calls of each kind; 0 unless os_configure wants it */
    _Atomic uint64_t name;            /* prctl calls: mappings that were to get a name */
    _Atomic uint64_t look;            /* mincore calls: how much of a range is in memory */
    _Atomic uint64_t wait;            /* futex calls: locks that a thread had to sleep for */
    _Atomic uint64_t wake;            /* ... and somebody to wake */
    _Atomic uint64_t file;            /* files of /proc and /sys that were opened */
    _Atomic uint64_t thread;          /* calls that looked at other threads, or asked who the own one is */
};

extern struct os_counts os_counts;

/* The CPU that the calling thread runs on, from 0 on; below 0: unknown. From glibc 2.35 on, and on x86-64, without a system call. */
int os_cpu(void);

/* How many CPUs the process may use; 0 until os_cpu_count was asked. Relaxed: a guess of how long to spin. */
extern _Atomic unsigned os_cpus;

/* Whether mappings get names, and whether calls for memory are timed. Told once, before there are threads. */
void os_configure(bool names, bool timed);

/* Private, readable and writable, zeroed; the hint is only a wish. NULL when the system refuses. */
void *os_map(size_t bytes, void *hint);

/* The same at a multiple of `alignment` (a power of two, at least a page). */
void *os_map_aligned(size_t bytes, size_t alignment, void *hint);

/* False when the range stays mapped (the process may own too many mappings to split one). */
bool os_unmap(void *address, size_t bytes);

/* Grows or shrinks in place. NULL when refused: the range is untouched. */
void *os_remap(void *address, size_t old_bytes, size_t new_bytes);

/* Grows and moves to where the kernel likes, at a multiple of `alignment` (a power of two, at least a page). Never are both ranges mapped
 * at once, for a limit of addresses would count both; but all of it may be copied to get the alignment. The old range has to be one mapping
 * of the kernel's. NULL when refused: the old range is untouched. */
void *os_remap_away(void *address, size_t old_bytes, size_t new_bytes, size_t alignment);

/* Moves the pages over `target`, a range of new_bytes that we mapped before. The old range has to be one mapping of the
 * kernel's, as one that os_map made is, and what was moved as a whole. NULL when refused: both ranges are still mapped, and
 * the old one is untouched. */
void *os_remap_to(void *address, size_t old_bytes, size_t new_bytes, void *target);

/* Moves the pages of a range of ours over `target`, a range of ours as long; the old one stays mapped and reads as zero.
 * False when refused, as by kernels before 5.7: the pages are where they were. */
bool os_move_out(void *address, size_t bytes, void *target);

/* For each of `pages` pages a byte whose lowest bit says whether it is in memory. False where the kernel does not say. */
bool os_in_memory(const void *address, size_t pages, unsigned char *present);

/* For each of `pages` pages what /proc/self/pagemap says of it (the kernel's admin-guide/mm/pagemap): bits of these. False where it says
 * nothing. */
#define OS_PAGE_THERE (1ULL << 63) /* in memory */
#define OS_PAGE_ALONE (1ULL << 56) /* mapped nowhere else */
bool os_page_words(const void *address, size_t pages, uint64_t *words);

/* The range must be one that we mapped. OS_FREE becomes OS_DONTNEED on kernels that do not know it. */
bool os_advise(void *address, size_t bytes, enum os_advice advice);

/* No huge pages in a static table of ours, even where the kernel makes them unasked. */
void os_keep_small(void *table, size_t bytes);

/* Gives a whole mapping of os_map its name in /proc/PID/maps. The first one of the process waits for the second, so
 * that a program which needs only one makes no call for it. */
void os_name(void *address, size_t bytes, enum os_use use);

/* Bytes of a page of the kernel. Linux has one size only on x86-64 (PAGE_SHIFT is 12 there): no call asks for it. */
#if defined(__x86_64__)
static ALWAYS_INLINE size_t os_page_size(void) {
    return 4096;
}
#else
size_t os_page_size(void);
#endif

/* Monotonic nanoseconds; 0 when the system has no such clock, and from os_note_no_clock on the same for good. */
uint64_t os_now_ns(void);

/* The processor's counter, read when all that comes before is done: rdtscp, cntvct_el0; where there is none, os_now_ns. */
uint64_t os_ticks(void);

uint64_t os_random(void);

/* Writes all of it, or as much as the descriptor takes. */
void os_write(int fd, const char *text, size_t bytes);

/* Keeps a duplicate of standard error for what is said at exit: many programs close theirs before the end. */
void os_keep_stderr(void);

/* Where messages go: the kept descriptor, if it still is the file it was; else standard error. */
int os_stderr(void);

/* Ends the process at once, without exit handlers. */
_Noreturn void os_exit(int status);

/* Sleeps until *word is woken, unless it no longer holds `expected`; may return early. */
void os_wait(_Atomic uint32_t *word, uint32_t expected);
void os_wake(_Atomic uint32_t *word, unsigned waiters);

/* os_wait for at most `ns` nanoseconds. */
void os_wait_for(_Atomic uint32_t *word, uint32_t expected, uint64_t ns);

/* Makes every running thread of the process pass a full memory barrier (membarrier(2), PRIVATE_EXPEDITED), so that the
 * other side of a handshake needs none. False where the kernel or a filter refuses: then there was no barrier. */
bool os_barrier_everywhere(void);

/* Asks the kernel to be ready for that; costs a process that has other threads milliseconds, once, also if it wants to end meanwhile.
 * False: refused. */
bool os_barrier_prepare(void);

/* True when os_barrier_everywhere has been prepared for: it will not take long, and not be refused. */
bool os_barrier_ready(void);

/* True when the process has no other thread: libc says so, or, `ask`, the kernel, which also knows that the first pthread_create has
 * hardly begun (the links of /proc/self/task are two more than threads). False: it may have. */
bool os_is_alone(bool ask);

/* Whether libc says that at all: glibc since 2.32 does, musl does not. */
bool os_libc_tells(void);

/* True when the process's first thread has ended, and of its threads `threads` are left, that one included (/proc/self); then *status is how,
 * as waitpid has it. */
bool os_first_has_ended(unsigned threads, int *status);

/* Ends the process with such a status; what is to be done at exit is not done. */
_Noreturn void os_end_as(int status);

/* The calling thread's, at most 15 bytes. */
void os_name_thread(const char *name);

/* No signal's handler runs in the calling thread from here on, until what this returns is restored: but for those of signals that the thread brings about
 * itself, by a fault or a system call, and that would end the process if they were blocked. */
uint64_t os_block_signals(void);
void os_restore_signals(uint64_t before);

/* Threads of the process (the links of /proc/self/task are two more); 0: it is not told. */
size_t os_thread_count(void);

/* True in a child of clone(2) or vfork: libc takes the calling thread for the parent's. */
bool os_is_unknown_child(void);

/* False in a child of clone(2) that has its memory to itself; true where the kernel does not tell. Asked of an unknown child. */
bool os_shares_memory(void);

/* True when a filter of system calls (seccomp) looks on, which may kill for calls that programs seldom make, or one forbids
 * to ask; or os_note_filter was called: then it is not asked, as a filter may kill for that. */
bool os_is_filtered(void);

/* Who reads the processor's counter, as libc does for the time, will be ended by a signal. Any thread. */
void os_note_no_clock(void);

/* A filter looks on from the first call of the process on. */
void os_note_inherited_filter(void);

/* True when os_note_inherited_filter was called, and os_note_filter was not: what the process has been allowed to do, it may do again. */
bool os_inherits_filter(void);

/* There will be a filter. From here on no call is made that libc's malloc would not make, but advice. Any thread. */
void os_note_filter(void);

/* True when os_note_filter was called. Relaxed: the thread that sets one has told itself. */
bool os_knows_of_filter(void);

/* True when the process may have so many addresses and no more (RLIMIT_AS). Not asked where a filter looks on. */
bool os_addresses_are_few(void);

/* True when the process gets no huge pages, whatever it asks for (PR_SET_THP_DISABLE), or a filter looks on: then it is not asked. */
bool os_has_no_huge_pages(void);

/* True when the process runs with more rights than its user. */
bool os_secure(void);

/* Value of an environment variable, NULL when it is not set or os_secure(). */
const char *os_getenv(const char *name);

/* The i-th "NAME=value" of the environment, NULL after the last. */
const char *os_environment(size_t i);

/* The beginning of a file, as a string; returns its length, 0 when it cannot be read. */
size_t os_read_file(const char *path, char *text, size_t bytes);

/* CPUs that the scheduler lets this thread use, 1 when it does not say. */
unsigned os_affinity(void);

/* ... and that the cgroup's cpu.max pays for: the smaller of the two, at least 1. Asked once, then remembered. */
unsigned os_cpu_count(void);

#define OS_NO_LIMIT UINT64_MAX

/* The least value of a file ("memory.max", "cpu.max": quota / period, rounded up) over the process's own cgroup v2
 * and its parents. OS_NO_LIMIT when none sets one, or there is only cgroup v1. How many levels above the own one it is
 * set, 0 when it is not, goes to `above` unless that is NULL. */
uint64_t os_cgroup_least(const char *file, unsigned *above);

/* The path of a file of the process's own cgroup v2, or of the one so many levels above; false when there is none or the
 * path is too long. */
bool os_cgroup_path(const char *file, unsigned above, char *path, size_t bytes);

/* When the kernel makes huge pages: never, where somebody asks (also if it does not say), or wherever one fits. */
enum os_huge { OS_HUGE_NEVER, OS_HUGE_ASKED, OS_HUGE_UNASKED };
enum os_huge os_huge_pages(void);

/* Mappings that the process has, counted in /proc/self/maps, and may have; 0 where /proc does not say. */
size_t os_mappings(void);
size_t os_mappings_allowed(void);

/* Opens a pressure file and asks to be woken (POLLPRI) as `trigger` says. A descriptor, -1 when refused. */
int os_open_trigger(const char *path, const char *trigger);

void os_close(int fd);

/* Sleeps for `ns` nanoseconds, at most until the trigger fires; whether it did. */
bool os_wait_trigger(int fd, uint64_t ns);

/* Tells a file from others by its device and inode; 0: not open. A program may have closed our descriptor and opened its
 * own in that place. */
uint64_t os_file_id(int fd);

/* The calling thread's number; 0 is nobody's. */
uint32_t os_thread_number(void);

/* The process's number, which is its first thread's. */
uint32_t os_process_number(void);

/* True when /proc counts processes and threads as the process itself does: not in another PID namespace. */
bool os_proc_is_ours(void);

/* A descriptor of the file in which the kernel says where thread `number` sleeps; -1: there is no such thread or file, or
 * *refused for good. */
int os_open_thread(uint32_t number, bool *refused);

/* What the file says now, as a string; its length, 0 when it cannot be read. */
size_t os_read_again(int fd, char *text, size_t bytes);

/* Copies words of the own address space; false, not a fault, where nothing is mapped. */
bool os_read_words(uintptr_t from, uintptr_t *words, size_t count);

/* Where the stack of the calling thread ends, above all its frames; 0: unknown. `word` is a thread-local object of the
 * thread: libc lays these on top of the stacks that it makes. */
uintptr_t os_stack_end(const void *word);

/* The bounds of this library's code. False where that is not a file of its own, and where a call leaves no return address
 * on the stack. */
bool os_own_code(uintptr_t *from, uintptr_t *to);

/* True when the program was started by a dynamic linker, which may load more. */
bool os_has_linker(void);

/* Where the dynamic linker lies, 0: there is none. In a program that it was asked to run, too. */
uintptr_t os_linker(void);

/* Where a library's code and data lie, `to` being behind them; from 0: it is not known. The linker's list of libraries is only safe to
 * read while nobody can change it. */
struct os_text {
    uintptr_t from, to;
};
struct os_text os_text_of_libc(void);
struct os_text os_text_of_linker(void);

static inline bool os_is_inside(const struct os_text *text, const void *address) {
    return (uintptr_t)address >= text->from && (uintptr_t)address < text->to;
}

/* True for a function of a library that is neither this one nor libc; the dynamic linker is no such library, nor the program, a place in which may stand
 * for any function (tests/hostile/own_address.c). Before there are threads. */
bool os_is_elsewhere(const void *function);

/* True when the program itself, not only a library of its, asks libc whether it has one thread: that is what std::shared_ptr compiles to, which
 * counts without atomic operations then. GNU's C library and linker since 2.32; any other: false. */
bool os_program_asks_for_threads(const struct os_text *libc);

/* The addresses at which signal handlers return to the kernel, each once; more than `most`: too many. */
unsigned os_handlers_return_to(uintptr_t *addresses, unsigned most);

/* True for system calls in which somebody else may run on the caller's stack and thread-local words (vfork). */
bool os_lends_stack(long call);

struct os_usage {
    uint64_t peak_rss_bytes;
    uint64_t rss_bytes; /* 0 where /proc cannot be read */
    uint64_t minor_faults;
    uint64_t major_faults;
    uint64_t user_ns;
    uint64_t system_ns;
};

void os_read_usage(struct os_usage *usage);

/* ---- between the parts of the room ---- */

/* One system call; its error number goes to *error and errno stays as it was. */
long os_call(int *error, long number, long a, long b, long c, long d, long e, long f);

#endif
