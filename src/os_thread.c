/* os, other threads of the process as the kernel shows them in /proc, and what code and stacks look like here. */
#include "base.h"
#include "boxes.h"
#include "os.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OS_KCMP_VM 1 /* linux/kcmp.h */

extern void *__libc_stack_end WEAK;      /* as in os_linux.c */
extern char __libc_single_threaded WEAK; /* of glibc since 2.32: false once a thread is to be made */
extern const ElfW(Ehdr)
    __ehdr_start WEAK HIDDEN; /* by the linker: the header of the file that this code is in */

/* As os_call, counted. */
static long os_ask(int *error, long number, long a, long b, long c, long d, long e, long f) {
    long result = os_call(error, number, a, b, c, d, e, f);
    atomic_fetch_add_explicit(&os_counts.thread, 1, memory_order_relaxed);
    return result;
}

size_t os_thread_count(void) {
    enum { OTHER_LINKS = 2 };
    struct stat tasks;
    int error;
    if (os_ask(&error, SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&tasks, 0, 0, 0) != 0)
        return 0;
    return tasks.st_nlink - OTHER_LINKS;
}

bool os_libc_tells(void) {
    return &__libc_single_threaded != NULL;
}

bool os_is_alone(bool ask) {
    if (os_libc_tells() && __libc_single_threaded)
        return true;
    return ask && !os_knows_of_filter() && os_thread_count() == 1;
}

/* The word behind `count` blanks, or NULL. */
static const char *os_word(const char *text, unsigned count) {
    for (; text && count > 0; count--)
        text = strchr(text + 1, ' ');
    return text ? text + 1 : NULL;
}

/* Not by strtol: each of libc's names takes a word of the page of relocated constants, which is full. */
static long os_number(const char *digits) {
    long number = 0;
    for (; *digits >= '0' && *digits <= '9'; digits++)
        number = number * 10 + *digits - '0';
    return number;
}

/* "PID (NAME) STATE ...": a name may have blanks and parentheses. The state is taken before the threads are counted, and after it only
 * threads that are left make others. A first thread that has ended has no program any more: most are told by that, without a descriptor. */
COLD bool os_first_has_ended(unsigned threads, int *status) {
    enum { THREADS = 18, STATUS = 50 }; /* words behind the name */
    char text[1024];
    int error, unused;
    os_ask(&error, SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)text, 1, 0, 0);
    if (error != ENOENT)
        return false;
    long fd = os_ask(&error, SYS_openat, AT_FDCWD, (long)"/proc/self/stat", O_RDONLY | O_CLOEXEC, 0, 0, 0);
    atomic_fetch_add_explicit(&os_counts.file, 1, memory_order_relaxed);
    if (error != 0)
        return false;
    os_read_again((int)fd, text, sizeof text);
    os_call(&unused, SYS_close, fd, 0, 0, 0, 0, 0);
    const char *name = strrchr(text, ')'), *state = os_word(name, 1), *left = os_word(name, THREADS),
               *how = os_word(name, STATUS);
    if (!how || (*state != 'Z' && *state != 'X') || os_number(left) != threads)
        return false;
    *status = (int)os_number(how);
    return true;
}

/* In the kernel's set of signals. */
static uint64_t os_signal(int number) {
    return 1ULL << (number - 1) % 64;
}

/* By the kernel's own calls, as above. */
COLD void os_end_as(int status) {
    int by = WTERMSIG(status), unused;
    uint64_t usual[4] = {0}; /* the kernel's struct sigaction: SIG_DFL, no flags */
    if (by != 0) {           /* the program's handler is not for a thread of ours */
        uint64_t it = os_signal(by);
        os_call(&unused, SYS_rt_sigaction, by, (long)usual, 0, sizeof it, 0, 0);
        os_call(&unused, SYS_kill, os_process_number(), by, 0, 0, 0, 0); /* blocked until then */
        os_call(&unused, SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&it, 0, sizeof it, 0, 0);
    }
    os_exit(by != 0 ? 128 + by : WEXITSTATUS(status));
}

COLD void os_name_thread(const char *name) {
    int unused;
    os_call(&unused, SYS_prctl, PR_SET_NAME, (long)name, 0, 0, 0, 0);
}

/* By the kernel's own call: libc's leaves out two signals that are its own. */
uint64_t os_block_signals(void) {
    uint64_t by_itself = os_signal(SIGSEGV) | os_signal(SIGBUS) | os_signal(SIGILL) | os_signal(SIGFPE) |
                         os_signal(SIGTRAP) | os_signal(SIGSYS),
             others = ~by_itself, before = 0;
    int unused;
    os_call(&unused, SYS_rt_sigprocmask, SIG_BLOCK, (long)&others, (long)&before, sizeof others, 0, 0);
    return before;
}

void os_restore_signals(uint64_t before) {
    int unused;
    os_call(&unused, SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
}

/* The clock of a thread has the number that libc has noted for it: ~number << 3, and three bits of kind (the kernel's posix-timers). */
COLD bool os_is_unknown_child(void) {
    clockid_t clock;
    atomic_fetch_add_explicit(&os_counts.thread, 1, memory_order_relaxed);
    return pthread_getcpuclockid(pthread_self(), &clock) == 0 &&
           ~(long)(clock >> 3) != syscall(SYS_gettid, 0L, 0L, 0L, 0L, 0L, 0L); /* which does not fail */
}

COLD bool os_shares_memory(void) {
    int error;
    if (os_is_filtered()) /* it may kill for that */
        return true;
    long parent = os_ask(&error, SYS_getppid, 0, 0, 0, 0, 0, 0);
    long order = os_ask(&error, SYS_kcmp, os_process_number(), parent, OS_KCMP_VM, 0, 0, 0);
    return error != 0 || order == 0;
}

int os_cpu(void) {
    int kept = errno, cpu = sched_getcpu();
    errno = kept;
    return cpu;
}

uint32_t os_thread_number(void) {
    int error;
    return (uint32_t)os_ask(&error, SYS_gettid, 0, 0, 0, 0, 0, 0);
}

uint32_t os_process_number(void) {
    int error;
    return (uint32_t)os_ask(&error, SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* Writes a number in decimal; returns its end. */
static char *os_put_number(char *text, uint32_t number) {
    char digits[10];
    unsigned count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0)
        *text++ = digits[--count];
    *text = '\0';
    return text;
}

bool os_proc_is_ours(void) {
    char said[16] = "", number[16];
    int error;
    long bytes =
        os_ask(&error, SYS_readlinkat, AT_FDCWD, (long)"/proc/self", (long)said, sizeof said - 1, 0, 0);
    os_put_number(number, os_process_number());
    return bytes > 0 && strcmp(said, number) == 0;
}

int os_open_thread(uint32_t number, bool *refused) {
    char path[48] = "/proc/self/task/";
    int error;
    strcpy(os_put_number(path + strlen(path), number), "/syscall");
    long fd = os_ask(&error, SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    atomic_fetch_add_explicit(&os_counts.file, 1, memory_order_relaxed);
    *refused = error == EACCES || error == EPERM || error == ENOSYS;
    return error == 0 ? (int)fd : -1;
}

size_t os_read_again(int fd, char *text, size_t bytes) {
    int error;
    long got = os_ask(&error, SYS_pread64, fd, (long)text, (long)bytes - 1, 0, 0, 0);
    size_t length = got > 0 ? (size_t)got : 0;
    text[length] = '\0';
    return length;
}

bool os_read_words(uintptr_t from, uintptr_t *words, size_t count) {
    int error;
    struct iovec here = {.iov_base = words, .iov_len = count * sizeof *words};
    struct iovec there = {.iov_base = (void *)from, .iov_len = count * sizeof *words};
    long got = os_ask(&error, SYS_process_vm_readv, os_process_number(), (long)&here, 1, (long)&there, 1, 0);
    return got == (long)here.iov_len;
}

uintptr_t os_stack_end(const void *word) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), above = (uintptr_t)word;
    uintptr_t end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
    return above > here ? above : end > here ? end : 0;
}

bool os_has_linker(void) {
    return os_linker() != 0;
}

#if defined(__x86_64__)

bool os_own_code(uintptr_t *from, uintptr_t *to) {
    uintptr_t header = (uintptr_t)&__ehdr_start;
    if (header == 0 || getauxval(AT_PHDR) == 0 || getauxval(AT_PHDR) == header + __ehdr_start.e_phoff)
        return false;
    const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(header + __ehdr_start.e_phoff);
    *from = *to = 0;
    for (unsigned i = 0; i < __ehdr_start.e_phnum; i++) {
        if (segment[i].p_type != PT_LOAD || !(segment[i].p_flags & PF_X))
            continue;
        uintptr_t start = header + segment[i].p_vaddr, end = start + segment[i].p_memsz;
        *from = *from == 0 || start < *from ? start : *from;
        *to = end > *to ? end : *to;
    }
    return *to != 0;
}

/* What the kernel takes and gives: libc's struct is another. */
struct os_action {
    uintptr_t handler, flags, returns_to;
    uint64_t mask;
};

unsigned os_handlers_return_to(uintptr_t *addresses, unsigned most) {
    const unsigned signals = 64;
    unsigned count = 0;
    for (unsigned number = 1; number <= signals; number++) {
        struct os_action action = {0};
        int error;
        os_ask(&error, SYS_rt_sigaction, (long)number, 0, (long)&action, sizeof action.mask, 0, 0);
        unsigned known = 0;
        while (known < count && addresses[known] != action.returns_to)
            known++;
        if (error != 0 || action.returns_to == 0 || known < count)
            continue;
        if (count == most)
            return most + 1;
        addresses[count++] = action.returns_to;
    }
    return count;
}

bool os_lends_stack(long call) {
    return call == SYS_vfork || call == SYS_clone || call == SYS_clone3 || call == SYS_execve ||
           call == SYS_execveat;
}

#else

bool os_own_code(uintptr_t *from, uintptr_t *to) {
    *from = *to = 0;
    return false;
}

unsigned os_handlers_return_to(uintptr_t *addresses, unsigned most) {
    (void)addresses;
    return most + 1;
}

bool os_lends_stack(long call) {
    (void)call;
    return true;
}

#endif
