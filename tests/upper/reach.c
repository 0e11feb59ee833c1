/* Unit tests of reach: threads, stacks, signals and /proc are real; where "this library's code" lies is said here. */
#include "../../src/reach.c"

#include "unit/unit.h"
#include "../kernel_call.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#undef syscall
long syscall(long number, ...);

static struct {
    long number;
    int error; /* 0: nothing is refused */
} refused;

/* The rooms' way to the kernel. */
long kernel_syscall(long number, ...) {
    long words[6];
    KERNEL_WORDS(words, number);
    if (refused.error == 0 || refused.number != number)
        return syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    errno = refused.error;
    return -1;
}

static void kernel_refuse(long number, int error) {
    refused.number = number;
    refused.error = error;
}

static char code[64]; /* ours, as the tests say */
static _Thread_local void *word;

enum how {
    PLAIN,
    OURS_ON_STACK,
    IN_HANDLER,
    ON_ALTERNATE_STACK,
    ON_OWN_OTHER_STACK,
    DEEP,
    STACK_LENT,
    SPINS
};

static struct {
    struct reach_thread thread;
    enum how how;
    int ends[2]; /* a pipe: the thread sleeps until something is written */
    _Atomic int ready, stop;
} sleeper;

static void sleep_here(void) {
    char byte;
    atomic_store(&sleeper.ready, 1);
    while (read(sleeper.ends[0], &byte, 1) != 1)
        ;
}

static void sleep_in_handler(int number) {
    (void)number;
    sleep_here();
}

static NOINLINE void sleep_with(uintptr_t value, size_t bytes) {
    volatile uintptr_t kept[8] = {0, value};
    volatile char room[bytes + 1];
    room[0] = room[bytes] = 0;
    sleep_here();
    assert_int_equal(kept[1] + (uintptr_t)room[0], value);
}

static ucontext_t here, there;

static void sleep_and_return(void) {
    sleep_here();
    swapcontext(&there, &here);
}

static void sleep_on(void *stack, size_t bytes) {
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = bytes;
    there.uc_link = NULL;
    makecontext(&there, sleep_and_return, 0);
    swapcontext(&here, &there);
}

static void sleep_in(int flags) {
    static char alternate[64 * 1024];
    struct sigaction action = {.sa_handler = sleep_in_handler, .sa_flags = flags};
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    pthread_kill(pthread_self(), SIGUSR1);
}

/* The child sleeps, on the thread's own stack; the thread waits until it is gone. */
static void sleep_in_child(void) {
    if (vfork() == 0) {
        sleep_here();
        _exit(0);
    }
}

static void *run(void *nothing) {
    static char stack[64 * 1024];
    assert_true(reach_describe(&sleeper.thread, &word));
    switch (sleeper.how) {
    case PLAIN:
        sleep_with(1, 1);
        break;
    case OURS_ON_STACK:
        sleep_with((uintptr_t)&code[7], 1);
        break;
    case DEEP:
        sleep_with(1, STACK_LARGEST);
        break;
    case STACK_LENT:
        sleep_in_child();
        break;
    case IN_HANDLER:
        sleep_in(0);
        break;
    case ON_ALTERNATE_STACK:
        sleep_in(SA_ONSTACK);
        break;
    case ON_OWN_OTHER_STACK:
        sleep_on(stack, sizeof stack);
        break;
    case SPINS:
        atomic_store(&sleeper.ready, 1);
        while (!atomic_load(&sleeper.stop))
            ;
        break;
    }
    return nothing;
}

static pthread_t start(enum how how) {
    pthread_t thread;
    memset(&sleeper, 0, sizeof sleeper);
    sleeper.how = how;
    assert_int_equal(pipe(sleeper.ends), 0);
    assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
    while (!atomic_load(&sleeper.ready))
        sched_yield();
    return thread;
}

static void end(pthread_t thread) {
    atomic_store(&sleeper.stop, 1);
    assert_int_equal(write(sleeper.ends[1], "", 1), 1);
    pthread_join(thread, NULL);
    close(sleeper.ends[0]);
    close(sleeper.ends[1]);
}

/* What is found of a thread that is about to fall asleep. */
static enum reach_found found_at_last(void) {
    enum reach_found found = REACH_RUNS;
    for (int ms = 0; found == REACH_RUNS && ms < 20000; ms++) {
        struct reach reach;
        found = reach_begin(&reach, &sleeper.thread);
        if (found == REACH_ASLEEP)
            found = reach_confirm(&reach);
        reach_end(&reach);
        usleep(1000);
    }
    return found;
}

static int lowest_free_descriptor(void) {
    int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(lowest >= 0);
    close(lowest);
    return lowest;
}

static enum reach_found found_of(enum how how) {
    pthread_t thread = start(how);
    int descriptor = lowest_free_descriptor();
    enum reach_found found = found_at_last();
    assert_int_equal(lowest_free_descriptor(), descriptor); /* the program may have few of them */
    end(thread);
    return found;
}

static int setup(void **state) {
    (void)state;
    uintptr_t from, to;
    reach_configure(true);
    assert_false(reach_possible()); /* a program's code would all be ours */
    assert_false(os_own_code(&from, &to));
    reach_state.possible = true;
    reach_state.from = (uintptr_t)code;
    reach_state.to = (uintptr_t)(code + sizeof code);
    if (!reach_allowed() || access("/proc/self/syscall", R_OK) != 0)
        skip();
    return 0;
}

static void reach_P1_understands_only_a_thread_in_a_call(void **state) {
    (void)state;
    uint64_t fields[FIELDS];
    assert_true(
        reach_parse("202 0x7f01 0x189 0x0 0x0 0x0 0xffffffff 0x7fffdeadbee0 0x7f0123456789\n", fields));
    assert_int_equal(fields[0], 202);
    assert_int_equal(fields[7], 0x7fffdeadbee0);
    assert_int_equal(fields[8], 0x7f0123456789);
    static const char *const others[] = {
        "",
        "running\n",
        "-1 0x7fffdeadbee0 0x7f0123456789\n",
        "202 0x7f01 0x189 0x0 0x0 0x0 0xffffffff 0x7fffdeadbee0\n",
        "202 0x7f01 0x189 0x0 0x0 0x0 0xffffffff 0x7fffdeadbee0 0x7f0123456789",
        "202 0x7f01 0x189 0x0 0x0 0x0 0xffffffff 0x7fffdeadbee0 0x7f0123456789 1\n",
        "202 0x7f01 0x189 0x0 0x0 0x0 0xffffffff 0x 0x7f0123456789\n",
        "202 0x7f01 0x189 0x0 0x0 0x0 0xffffffff deadbee0 0x7f0123456789\n",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        assert_false(reach_parse(others[i], fields));
}

static void reach_P1_finds_a_thread_that_sleeps(void **state) {
    (void)state;
    assert_int_equal(found_of(PLAIN), REACH_ASLEEP);
}

static void reach_P1_leaves_alone_who_must_not_be_disturbed(void **state) {
    (void)state;
    assert_int_equal(found_of(OURS_ON_STACK), REACH_BUSY);
    assert_int_equal(found_of(IN_HANDLER), REACH_BUSY);
    assert_int_equal(found_of(ON_ALTERNATE_STACK), REACH_BUSY);
    assert_int_equal(found_of(ON_OWN_OTHER_STACK), REACH_BUSY);
    assert_int_equal(found_of(DEEP), REACH_BUSY);
    assert_int_equal(found_of(STACK_LENT), REACH_BUSY);
}

enum { RESTORER = 0x04000000 };

/* As the kernel reads it. */
struct action {
    void (*handler)(int);
    unsigned long flags;
    uintptr_t returns_to;
    uint64_t mask;
};

/* Signals whose handlers, which never run, return to one place more each. */
static void set_handlers(unsigned count, bool on) {
    for (unsigned i = 0; i < count; i++) {
        struct action action = {0};
        if (on)
            action = (struct action){sleep_in_handler, RESTORER, 4096 + 16 * i, 0};
        assert_int_equal(syscall(SYS_rt_sigaction, SIGRTMIN + (int)i, &action, NULL, sizeof action.mask), 0);
    }
}

static void reach_P2_handlers_that_return_to_many_places(void **state) {
    (void)state;
    set_handlers(HANDLERS + 1, true);
    assert_int_equal(found_of(PLAIN), REACH_BUSY);
    set_handlers(HANDLERS + 1, false);
    assert_int_equal(found_of(PLAIN), REACH_ASLEEP);
}

static void reach_P1_code_that_makes_the_call_itself(void **state) {
    (void)state;
    reach_state.from = 1; /* all code is ours, and the stack not looked at */
    reach_state.to = UINTPTR_MAX;
    pthread_t thread = start(PLAIN);
    struct reach reach;
    enum reach_found found = REACH_RUNS;
    for (int ms = 0; found == REACH_RUNS && ms < 20000; ms++, usleep(1000)) {
        found = reach_begin(&reach, &sleeper.thread);
        reach_end(&reach);
    }
    assert_int_equal(found, REACH_BUSY);
    end(thread);
}

static void reach_P1_a_thread_that_runs_or_is_gone(void **state) {
    (void)state;
    struct reach reach;
    pthread_t thread = start(SPINS);
    assert_int_equal(reach_begin(&reach, &sleeper.thread), REACH_RUNS);
    reach_end(&reach);
    end(thread);
    assert_int_equal(reach_begin(&reach, &sleeper.thread), REACH_RUNS);
    reach_end(&reach);
    assert_true(reach_possible());
}

static void reach_P1_a_thread_that_wakes_up_meanwhile(void **state) {
    (void)state;
    struct reach reach;
    pthread_t thread = start(PLAIN);
    while (reach_begin(&reach, &sleeper.thread) != REACH_ASLEEP)
        reach_end(&reach);
    end(thread);
    assert_int_equal(reach_confirm(&reach), REACH_RUNS);
    reach_end(&reach);
}

static void reach_P1_calls_that_lend_the_stack(void **state) {
    (void)state;
    assert_true(os_lends_stack(SYS_clone) && os_lends_stack(SYS_execve));
    assert_false(os_lends_stack(SYS_futex) || os_lends_stack(SYS_read));
}

static void reach_P2_a_refusal_is_for_ever(void **state) {
    (void)state;
    struct reach reach;
    pthread_t thread = start(PLAIN);
    kernel_refuse(SYS_openat, EACCES);
    assert_int_equal(reach_begin(&reach, &sleeper.thread), REACH_RUNS);
    reach_end(&reach);
    kernel_refuse(SYS_openat, 0);
    assert_false(reach_possible());
    end(thread);
}

static void *look_at_forker(void *nothing) {
    (void)nothing;
    _exit(found_at_last() == REACH_ASLEEP ? 0 : 1);
}

/* The number was the parent's; the child's other threads have theirs. */
static void reach_P1_finds_the_thread_that_forked(void **state) {
    (void)state;
    assert_true(reach_describe(&sleeper.thread, &word));
    pid_t child = fork();
    if (child == 0) {
        pthread_t other;
        alarm(60);
        struct reach_thread parent = sleeper.thread;
        memset(&sleeper.thread, 0, sizeof sleeper.thread);
        reach_describe_forked(&sleeper.thread, &parent);
        if (pthread_create(&other, NULL, look_at_forker, NULL) == 0)
            pthread_join(other, NULL);
        _exit(2);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void reach_P2_a_filter_is_noticed(void **state) {
    (void)state;
    kernel_refuse(SYS_prctl, EPERM);
    assert_false(reach_allowed());
    kernel_refuse(SYS_prctl, 0);
    assert_true(reach_allowed());
    kernel_refuse(SYS_readlinkat, ENOENT);
    assert_false(reach_allowed()); /* no /proc */
    kernel_refuse(SYS_readlinkat, 0);
    kernel_refuse(SYS_process_vm_readv, EPERM);
    assert_int_equal(found_of(PLAIN), REACH_BUSY);
    kernel_refuse(SYS_process_vm_readv, 0);
}

static void reach_P3_a_wrong_address_is_no_fault(void **state) {
    (void)state;
    uintptr_t words[4];
    errno = 77;
    assert_false(os_read_words(4096, words, 4));
    assert_true(os_read_words((uintptr_t)&sleeper, words, 4));
    assert_int_equal(errno, 77);
    assert_true(os_stack_end(&word) > (uintptr_t)words);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(reach_P1_understands_only_a_thread_in_a_call, setup),
        cmocka_unit_test_setup(reach_P1_finds_a_thread_that_sleeps, setup),
        cmocka_unit_test_setup(reach_P1_leaves_alone_who_must_not_be_disturbed, setup),
        cmocka_unit_test_setup(reach_P1_code_that_makes_the_call_itself, setup),
        cmocka_unit_test_setup(reach_P1_a_thread_that_runs_or_is_gone, setup),
        cmocka_unit_test_setup(reach_P1_a_thread_that_wakes_up_meanwhile, setup),
        cmocka_unit_test_setup(reach_P1_calls_that_lend_the_stack, setup),
        cmocka_unit_test_setup(reach_P1_finds_the_thread_that_forked, setup),
        cmocka_unit_test_setup(reach_P2_handlers_that_return_to_many_places, setup),
        cmocka_unit_test_setup(reach_P2_a_refusal_is_for_ever, setup),
        cmocka_unit_test_setup(reach_P2_a_filter_is_noticed, setup),
        cmocka_unit_test_setup(reach_P3_a_wrong_address_is_no_fault, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
