/*
 * stepped: a thread that was stopped in the middle of malloc or free must be left alone.
 *
 *   stepped own|alternate|inside
 *
 * A signal handler may stop a thread anywhere and let it sleep, as garbage collectors do. Here the processor traps after
 * each instruction: at every one of the library's, in turn, the thread sleeps in the handler while another gives home what
 * it can, from sleeping threads' magazines too. Had the visitor touched the magazines that the thread was working on,
 * blocks would be handed out twice or get lost: each is filled with its own number and verified.
 *
 * The handler runs on the thread's own stack, on an alternate one, or on an alternate one that lies in a frame of the own.
 */
#include "home.h"

#include <signal.h>

#if defined(__x86_64__)

#include <link.h>
#include <ucontext.h>

enum { HELD = 40, STOPS = 150, STRIDE = 11, TRAP_FLAG = 0x100 };

static struct {
    uintptr_t from, to; /* the library's code */
    unsigned long steps, stop_at, stopped;
    int told[2], asked[2];
    const char *stack;
    _Atomic bool done;
    _Atomic long thread;
    _Atomic unsigned long wanted, given; /* visits */
} at;

static int find_code(struct dl_phdr_info *object, size_t size, void *address) {
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t from = object->dlpi_addr + segment->p_vaddr, to = from + segment->p_memsz;
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) && (uintptr_t)address >= from &&
            (uintptr_t)address < to) {
            at.from = from;
            at.to = to;
        }
    }
    return 0;
}

/* Sleeps in the middle of whatever was interrupted, until the other thread has done its part. */
static void stop_here(void) {
    char byte = 0;

    CHECK(write(at.told[1], &byte, 1) == 1);
    while (read(at.asked[0], &byte, 1) != 1)
        CHECK(errno == EINTR);
}

static void on_trap(int number, siginfo_t *info, void *context) {
    int kept = errno;
    uintptr_t counter = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

    (void)number;
    (void)info;
    if (counter >= at.from && counter < at.to && ++at.steps == at.stop_at) {
        at.stopped++;
        stop_here();
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &=
            ~(greg_t)TRAP_FLAG; /* the rest of the round runs */
    }
    errno = kept;
}

static void step(bool on) {
    if (on)
        __asm__ volatile("leaq -128(%%rsp), %%rsp; pushfq; orq %0, (%%rsp); popfq; leaq 128(%%rsp), %%rsp"
                         :
                         : "i"(TRAP_FLAG)
                         : "memory", "cc");
    else
        __asm__ volatile("leaq -128(%%rsp), %%rsp; pushfq; andq %0, (%%rsp); popfq; leaq 128(%%rsp), %%rsp"
                         :
                         : "i"(~TRAP_FLAG)
                         : "memory", "cc");
}

/* A size of several blocks a page, and one that is refilled often. */
static size_t size_of(int i) {
    return i % 2 == 0 ? 64 : 4000;
}

static void take_all(unsigned char **blocks) {
    for (int i = 0; i < HELD; i++)
        blocks[i] = malloc(size_of(i));
}

static void fill_all(unsigned char **blocks) {
    for (int i = 0; i < HELD; i++) {
        CHECK(blocks[i] != NULL);
        fill(blocks[i], size_of(i), (unsigned char)(i + 1));
    }
}

static void verify_and_drop(unsigned char **blocks) {
    for (int i = 0; i < HELD; i++)
        verify(blocks[i], size_of(i), (unsigned char)(i + 1));
    for (int i = 0; i < HELD; i++)
        free(blocks[i]);
}

/* Every kind of call, trapped: hits, refills, full magazines. What was handed out is verified, twice. */
static void round_of(unsigned long stop_at) {
    unsigned char *blocks[HELD], *others[HELD];

    take_all(blocks);
    fill_all(blocks);
    at.steps = 0;
    at.stop_at = stop_at;
    step(true);
    for (int i = 0; i < HELD; i++)
        free(blocks[i]);
    take_all(blocks);
    step(false);
    fill_all(blocks);
    take_all(others);
    fill_all(others);
    verify_and_drop(blocks);
    verify_and_drop(others);
}

static void use_stack(void *stack, size_t bytes) {
    stack_t alternate = {.ss_sp = stack, .ss_size = bytes};

    CHECK(sigaltstack(&alternate, NULL) == 0);
}

static void rounds(void) {
    unsigned long stop_at = 1;

    for (unsigned long stops = 0; stops < STOPS; stops++, stop_at += STRIDE) {
        unsigned long before = at.stopped;
        round_of(stop_at);
        if (at.stopped == before) /* behind the last instruction: from the start again, at others */
            stop_at = stop_at % STRIDE + 1;
    }
}

static void *stepped(void *nothing) {
    static char elsewhere[64 * 1024];
    char inside[64 * 1024];
    bool alternate = strcmp(at.stack, "own") != 0;
    struct sigaction action = {.sa_sigaction = on_trap,
                               .sa_flags = SA_SIGINFO | (alternate ? SA_ONSTACK : 0)};

    if (alternate)
        use_stack(strcmp(at.stack, "inside") == 0 ? inside : elsewhere, sizeof elsewhere);
    CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
    at.thread = syscall(SYS_gettid);
    rounds();
    at.done = true;
    stop_here();
    return nothing;
}

/* Only a thread that sleeps is of interest to a visitor. */
static void await_sleep(void) {
    char path[64];

    snprintf(path, sizeof path, "/proc/self/task/%ld/syscall", (long)at.thread);
    for (int looks = 0; strncmp(text_of(path), "running", 7) == 0; looks++) {
        CHECK(looks < 1000000);
        sched_yield();
    }
}

static void *visit(void *nothing) {
    for (;;) {
        while (at.given == at.wanted) {
            if (at.done)
                return nothing;
            sched_yield();
        }
        malloc_trim(0);
        at.given++;
    }
}

/* A thread that was stopped while it held a lock holds up the visitor, too: that one is not waited for. */
static void visit_for_a_while(void) {
    at.wanted++;
    for (int looks = 0; at.given != at.wanted && looks < 100; looks++)
        usleep(200);
}

int main(int argc, char **argv) {
    char byte = 0;

    CHECK(argc == 2 && pipe(at.told) == 0 && pipe(at.asked) == 0);
    at.stack = argv[1];
    void *function = dlsym(RTLD_DEFAULT, "malloc");
    dl_iterate_phdr(find_code, function);
    CHECK(at.from != 0);
    free(taken(100)); /* two threads have heaps */
    pthread_t thread = start_thread(stepped, NULL), visitor = start_thread(visit, NULL);
    for (bool last = false; !last;) {
        CHECK(read(at.told[0], &byte, 1) == 1);
        last = at.done;
        await_sleep();
        if (!last) /* the visitor may have ended by then */
            visit_for_a_while();
        CHECK(write(at.asked[1], &byte, 1) == 1);
        while (at.given != at.wanted)
            sched_yield();
    }
    join_thread(thread);
    join_thread(visitor);
    printf("stopped %lu times\n", at.stopped);
    CHECK(at.stopped > STOPS / 2);
    return 0;
}

#else

int main(void) {
    skip("a trap after each instruction is known for x86-64");
}

#endif
