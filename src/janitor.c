#include "janitor.h"

#include "large.h"
#include "next.h"
#include "os.h"
#include "reach.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

enum janitor_state { JANITOR_NONE, JANITOR_STARTING, JANITOR_RUNS, JANITOR_REFUSED };

_Static_assert(LARGE_HAND_MOST >= JANITOR_LEAST, "what is at hand for good would call nobody");

/* What has to rest in a process of one thread before there is a second: an eighth of what is in use, 4 MiB at least, and a quarter of
 * HAKMEM_KEEP_FREE at most; or that, where the program itself asks whether it has one. docs/experiments/programs-of-one-thread.md */
#define ALONE_LEAST (4 * MIB)
enum { ALONE_PART = 8, ALONE_KEPT = 4 };
#define OVERLOOKED_STEP \
    (JANITOR_LEAST / 64)           /* less is overlooked after each slow path: after 64 there is a look */
enum { PATIENCE = 10 };            /* looks without a result */
enum { COLLECT_PART = 4 };         /* of HAKMEM_KEEP_FREE: so much is taken until it collects */
#define TRY_AGAIN_NS 1000000000    /* where there were too many threads */
#define ALONE_NS 10000000ULL       /* so long a program counts as one of one thread, without a question */
#define ASK_FIRST_NS 1000000000ULL /* until the first question whether anybody is left */
#define FILTER_LOOK_NS 100000ULL   /* while it goes, because of a filter */
enum { FILTER_LOOKS = 1000 };
#define LOOK_AHEAD_NS \
    500000ULL /* until the first look at a block that is being written; then twice as long, and so on */
enum { LOOKS_AHEAD = 7 };
#define ASK_LONGEST_NS (1ULL << 46) /* most of a day */
/* Of the stack. libc takes the program's static thread-local storage out of it, and refuses what is too little. */
#define STACK_LEAST (256 * KIB)
#define STACK_MOST (64 * MIB)

_Atomic bool janitor_awake;
_Atomic size_t janitor_taken_most = JANITOR_NEVER;

static struct {
    _Atomic uint32_t state;       /* enum janitor_state; whoever takes it from NONE to STARTING starts it */
    _Atomic uint32_t awake;       /* futex: the thread sleeps while it is 0 */
    _Atomic uint32_t threads;     /* that have come and not gone */
    _Atomic uint32_t gone;        /* futex: times that the last of them went */
    _Atomic uint64_t looked;      /* ns: when a slow path did the janitor's work last */
    _Atomic uint64_t alone_until; /* ns; relaxed: a hint */
    _Atomic uint64_t again; /* ns: there were too many threads, until then none is tried to be started */
    _Atomic size_t
        overlooked;     /* bytes that waited when they were too few for a second thread; relaxed: a hint */
    _Atomic bool soon;  /* a long block is awaited; relaxed: what is seen late is looked at after the rest */
    _Atomic bool grown; /* much was taken since the last look; relaxed likewise */
    _Atomic bool unwanted; /* there is a filter, or will be; seq_cst, as threads */
    uint64_t delay_ns;     /* this and the next are written once, before there are threads */
    bool allowed, wrapped;
    enum { JANITOR_UNASKED, JANITOR_ASKED, JANITOR_NOT_ASKED } asked; /* only while there is one thread */
    sigset_t mask;                                                    /* of the thread that started it */
    struct os_text libc, linker; /* who is there may hold one of libc's locks that starting a thread needs */
    __typeof__(&pthread_create) create; /* libc's own; NULL: what is bound is, or must do */
} janitor;

bool janitor_may_start_from(const void *caller) {
    if (!has(serves_libc)) /* also in a static program, where libc's code cannot be told from the rest */
        return true;
    return janitor.libc.from != 0 && !os_is_inside(&janitor.libc, caller) &&
           !os_is_inside(&janitor.linker, caller);
}

/* From here on who frees something calls again; what was freed before is seen by the look that follows. The futex first:
 * who finds janitor_awake false must find that 0, too, or nobody would ever wake the thread again. True: somebody has called. */
static bool janitor_listen(void) {
    bool called =
        atomic_exchange_explicit(&janitor.awake, 0, memory_order_acq_rel); /* pairs with janitor_wake */
    atomic_exchange_explicit(&janitor_awake, false, memory_order_seq_cst);
    return called;
}

/* In somebody's hands; read one by one: a hint. */
static size_t janitor_taken_bytes(void) {
    size_t mapped = superslab_mapped_bytes(), free = superslab_free_bytes();
    return mapped > free ? mapped - free : 0;
}

/* From here on a thread that takes JANITOR_LEAST bytes more calls. Relaxed: a hint. */
static void janitor_await_growth(void) {
    atomic_store_explicit(&janitor_taken_most, janitor_taken_bytes() + JANITOR_LEAST, memory_order_relaxed);
}

/* While it is awake: one that takes so much more calls, and it collects. */
static COLD void janitor_await_more(void) {
    janitor_await_growth();
    atomic_fetch_add_explicit(&janitor_taken_most, purge_keep_free / COLLECT_PART, memory_order_relaxed);
}

/* Seq_cst, as what it is compared with: who goes counts itself out first and then wakes, see janitor_thread_went. */
static COLD bool janitor_is_alone(void) {
    return atomic_load_explicit(&janitor.threads, memory_order_seq_cst) == 0 ||
           atomic_load_explicit(&janitor.unwanted, memory_order_seq_cst);
}

/* A process ends with the last of its threads (POSIX, pthread_exit), and must not wait for this one. False: somebody has come
 * meanwhile, and may have counted on it. */
static bool janitor_leaves(void) {
    uint32_t none = JANITOR_NONE;
    atomic_store_explicit(&janitor.state, JANITOR_NONE, memory_order_seq_cst); /* pairs with janitor_wake */
    janitor_listen();
    if (janitor_is_alone() ||
        !atomic_compare_exchange_strong_explicit(&janitor.state, &none, JANITOR_RUNS, memory_order_seq_cst,
                                                 memory_order_relaxed))
        return true;
    atomic_store_explicit(&janitor.awake, 1, memory_order_relaxed);
    return false;
}

/* What is awaited tells within the first milliseconds, if ever. */
static COLD NOINLINE void janitor_look_ahead(uint32_t gone) {
    atomic_store_explicit(&janitor.soon, false, memory_order_relaxed);
    bool more = true;
    for (unsigned looks = 0; more && looks < LOOKS_AHEAD && !janitor_is_alone(); looks++) {
        limit_rest(&janitor.gone, gone, LOOK_AHEAD_NS << looks);
        more = huge_look_ahead();
    }
}

/* Threads have taken much while it rests: what they free of each other's waits in inboxes, and where the owner sleeps it serves nobody before it is
 * collected. */
static COLD NOINLINE void janitor_collect(void) {
    atomic_store_explicit(&janitor.grown, false, memory_order_relaxed);
    purge_collect();
    janitor_await_more();
}

static bool janitor_is_disturbed(void) {
    return atomic_load_explicit(&janitor.soon, memory_order_relaxed) ||
           atomic_load_explicit(&janitor.grown, memory_order_relaxed);
}

/* For the delay; what is awaited meanwhile is looked at, and what comes when that is over after the next look. */
static void janitor_rest(uint32_t gone) {
    uint64_t now = os_now_ns(), end = now + janitor.delay_ns;
    do {
        if (atomic_load_explicit(&janitor.soon, memory_order_relaxed))
            janitor_look_ahead(gone);
        if (atomic_load_explicit(&janitor.grown, memory_order_relaxed))
            janitor_collect();
        now = os_now_ns();
        if (now < end && !janitor_is_alone())
            limit_rest(&janitor.gone, gone, end - now);
    } while (now < end && janitor_is_disturbed() && !janitor_is_alone());
}

/* Looks until there is nothing left to do, or for a while nothing could be done: a heap that is at work all the time has
 * nothing at rest. Who has called since the last look may have freed all that waits after it, and calls no more: it has not rested yet. */
static void janitor_look_on(void) {
    struct purge_looked looked = {.later = true};
    for (unsigned fruitless = 0; looked.later && fruitless < PATIENCE; fruitless++) {
        uint32_t gone = atomic_load_explicit(&janitor.gone, memory_order_seq_cst);
        if (!janitor_is_alone())
            janitor_rest(gone);
        if (janitor_is_alone())
            return;
        if (janitor_listen())
            fruitless = 0;
        looked = purge_look();
        if (limit_near())
            looked.bytes += purge_all();
        if (looked.bytes > 0 || looked.reached > 0)
            fruitless = 0;
    }
    janitor_await_growth();
}

/* Until somebody wakes it, or all have gone. Who has gone without a word has left the process to this thread: it ends, as that one wanted.
 * (Of kernels since 5.17 the last thread's status is the process's.) */
static void janitor_sleep(void) {
    int status;
    for (uint64_t ns = ASK_FIRST_NS;
         atomic_load_explicit(&janitor.awake, memory_order_acquire) == 0 && /* pairs with janitor_wake */
         !atomic_load_explicit(&janitor.soon, memory_order_relaxed) &&      /* told while it looked */
         !janitor_is_alone();
         ns = ns < ASK_LONGEST_NS ? 2 * ns : ns) {
        os_wait_for(&janitor.awake, 0, ns);
        if (atomic_load_explicit(&janitor.awake, memory_order_acquire) == 0 && !os_is_filtered() &&
            os_first_has_ended(2, &status) &&
            atomic_load_explicit(&janitor.awake, memory_order_acquire) == 0 &&
            !janitor_is_alone()) /* else the last one has gone with a word meanwhile, and libc is to end the process */
            os_end_as(status);
    }
}

static void *janitor_run(void *nothing) {
    sigset_t mask = janitor.mask;
    os_name_thread("hakmem-janitor");
    atomic_store_explicit(&janitor.state, JANITOR_RUNS, memory_order_seq_cst);
    if (!os_barrier_ready() && !os_is_filtered())
        os_barrier_prepare(); /* who waits for that waits for milliseconds: better here, and not for the first look */
    while (!janitor_is_alone() || !janitor_leaves()) {
        janitor_sleep();
        janitor_look_on();
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL); /* libc may run the program's exit handlers here */
    return nothing;
}

/* Whether none is to be started, and with which error. A filter of system calls may kill a process for clone: not for that of a container, or a service, in
 * which the program has made threads itself. In a child that libc knows nothing of none is, as it may end without it, or its memory may be the
 * parent's, which may have one. */
static int janitor_may_not_start(void) {
    bool inherits = os_inherits_filter();
    if (inherits && atomic_load_explicit(&janitor.threads, memory_order_relaxed) < 2)
        return ECHILD;
    if (!inherits && os_is_filtered())
        return EINVAL;
    return os_is_unknown_child() ? ECHILD : 0;
}

/* 0, or the number of the error. Signals are blocked from its first instruction on. */
static int janitor_start(void) {
    int kept = errno, refused = janitor_may_not_start();
    __typeof__(janitor.create) create = janitor.create ? janitor.create : &pthread_create;
    sigset_t all;
    /* The library for musl may be in a program with glibc, whose attributes are longer on aarch64: 64 bytes for 56. */
    union {
        pthread_attr_t it;
        char room[2 * sizeof(pthread_attr_t)];
    } attributes;
    pthread_t thread;
    if (refused == 0 && (refused = pthread_attr_init(&attributes.it)) == 0) {
        refused = EINVAL;
        sigfillset(&all);
        pthread_attr_setdetachstate(&attributes.it, PTHREAD_CREATE_DETACHED);
        pthread_sigmask(SIG_SETMASK, &all, &janitor.mask);
        for (size_t stack = STACK_LEAST; refused == EINVAL && stack <= STACK_MOST; stack *= 4) {
            pthread_attr_setstacksize(&attributes.it, stack);
            refused = create(&thread, &attributes.it, janitor_run, NULL);
        }
        pthread_sigmask(SIG_SETMASK, &janitor.mask, NULL);
        pthread_attr_destroy(&attributes.it);
    }
    errno = kept; /* P3 */
    return refused;
}

static COLD bool janitor_appear(const void *caller) {
    uint32_t none = JANITOR_NONE;
    uint64_t again = atomic_load_explicit(&janitor.again, memory_order_relaxed);
    if (!janitor.allowed || janitor_is_alone() || !janitor_may_start_from(caller))
        return false;
    if (again != 0 && os_now_ns() < again)
        return false;
    /* Acquire: the thread that left has read the mask which the next one is given; pairs with janitor_leaves. */
    if (!atomic_compare_exchange_strong_explicit(&janitor.state, &none, JANITOR_STARTING,
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    int refused = janitor_start();
    if (refused == EAGAIN)
        atomic_store_explicit(&janitor.again, os_now_ns() + TRY_AGAIN_NS, memory_order_relaxed);
    if (refused != 0)
        atomic_store_explicit(&janitor.state,
                              refused == EAGAIN || refused == ECHILD ? JANITOR_NONE : JANITOR_REFUSED,
                              memory_order_relaxed);
    return refused == 0;
}

static bool janitor_wake(const void *caller) {
    /* Seq_cst: who finds that it runs has come before it asks whether it is alone; pairs with janitor_leaves. */
    if (atomic_load_explicit(&janitor.state, memory_order_seq_cst) != JANITOR_RUNS && !janitor_appear(caller))
        return false;
    atomic_store_explicit(&janitor_awake, true, memory_order_relaxed);
    /* Release: what was freed is seen by the thread's next look; pairs with janitor_listen and janitor_run. */
    if (atomic_exchange_explicit(&janitor.awake, 1, memory_order_release) == 0)
        os_wake(&janitor.awake, 1);
    return true;
}

/* What a small process has freed it uses again, and it never holds enough for a thread: how often it frees says nothing.
 * docs/experiments/idle-return.md */
static bool janitor_is_needed(size_t waiting) {
    return atomic_load_explicit(&janitor.state, memory_order_relaxed) == JANITOR_RUNS ||
           heap_touched_bytes() + waiting >= JANITOR_LEAST;
}

/* A slow path does what the janitor would, if nobody has for a while. */
static void janitor_stand_in(void) {
    uint64_t now = os_now_ns(), last = atomic_load_explicit(&janitor.looked, memory_order_relaxed);
    if (now - last >= janitor.delay_ns &&
        atomic_compare_exchange_strong_explicit(&janitor.looked, &last, now, memory_order_relaxed,
                                                memory_order_relaxed))
        purge_look_here();
}

/* Asked once; it reads a few pages of the program's file. */
static bool janitor_is_asked_for_threads(void) {
    if (janitor.asked == JANITOR_UNASKED)
        janitor.asked = os_program_asks_for_threads(&janitor.libc) ? JANITOR_ASKED : JANITOR_NOT_ASKED;
    return janitor.asked == JANITOR_ASKED;
}

/* Where libc does not tell the kernel is asked, which takes 2.5 us (two Zen 5 cores): not for each MiB that is freed. */
static bool janitor_program_is_alone(void) {
    if (os_libc_tells())
        return os_is_alone(false);
    uint64_t now = os_now_ns();
    if (now < atomic_load_explicit(&janitor.alone_until, memory_order_relaxed))
        return true;
    if (!os_is_alone(true))
        return false;
    atomic_store_explicit(&janitor.alone_until, now + ALONE_NS, memory_order_relaxed);
    return true;
}

/* In a process of one thread libc and libstdc++ spare atomic operations (putc, shared_ptr; musl, its locks), and some calls of the system are
 * allowed that are not in one of two. `waiting` is in no slab; what slabs hold that is free is what the heap has had out and has not now. With
 * a soft limit the thread listens to what the kernel says of its memory. */
static COLD bool janitor_is_worth_a_thread(struct heap *heap, size_t waiting) {
    if (!janitor.allowed || limit_is_watching() ||
        atomic_load_explicit(&janitor.state, memory_order_relaxed) != JANITOR_NONE ||
        !janitor_program_is_alone())
        return true;
    size_t fallen = heap ? heap_fallen_bytes(heap) : 0, rests = fallen > waiting ? fallen : waiting,
           most = purge_keep_free / ALONE_KEPT;
    if (rests >= most)
        return true;
    return rests >= ALONE_LEAST && rests >= janitor_taken_bytes() / ALONE_PART &&
           !janitor_is_asked_for_threads();
}

/* True when there is hardly more since it was found to be too little; and takes OVERLOOKED_STEP off what is overlooked. */
static bool janitor_overlooks(uint64_t freed, size_t waiting) {
    size_t overlooked = atomic_load_explicit(&janitor.overlooked, memory_order_relaxed);
    if (freed + (waiting > overlooked ? waiting - overlooked : 0) >= JANITOR_LEAST)
        return false;
    overlooked = overlooked > OVERLOOKED_STEP ? overlooked - OVERLOOKED_STEP : 0;
    atomic_store_explicit(&janitor.overlooked, overlooked, memory_order_relaxed);
    return true;
}

static COLD void janitor_call_if_needed(struct heap *heap, uint64_t freed, size_t waiting,
                                        const void *caller) {
    size_t staying = superslab_staying_bytes(), may_go = waiting > staying ? waiting - staying : 0;
    if (heap_is_in_watch() || /* its caller is not known here: alloc calls again behind it */
        janitor_overlooks(freed, waiting))
        return;
    if (freed + may_go < JANITOR_LEAST || janitor.delay_ns == 0 || !janitor_is_needed(may_go))
        return;
    if (heap)
        heap->flushed_before = heap->flushed;
    bool worth = janitor_is_worth_a_thread(heap, may_go);
    atomic_store_explicit(&janitor.overlooked, worth ? 0 : waiting, memory_order_relaxed);
    if (!worth || !janitor_wake(caller))
        janitor_stand_in();
}

NOINLINE void janitor_call(const void *caller) {
    struct heap *heap = heap_own;
    uint64_t freed = !heap ? 0 : heap->flushed - heap->flushed_before;
    size_t waiting = purge_waiting_bytes();
    if (UNLIKELY(freed + waiting >= JANITOR_LEAST))
        janitor_call_if_needed(heap, freed, waiting, caller);
}

/* For what only grows a program of one thread gets no second one. */
static COLD bool janitor_may_shed(void) {
    return atomic_load_explicit(&janitor.state, memory_order_relaxed) == JANITOR_RUNS &&
           __atomic_load_n(&superslab_has_huge, __ATOMIC_RELAXED);
}

COLD void janitor_call_soon(const void *caller) {
    if (heap_is_in_watch() || janitor.delay_ns == 0)
        return;
    atomic_store_explicit(&janitor.soon, true, memory_order_relaxed);
    if (!janitor_wake(caller))
        return;
    atomic_store_explicit(&huge_is_awaited, false, memory_order_relaxed);
    os_wake(&janitor.gone, 1); /* it may rest */
}

/* It is awake, but may rest. */
static COLD NOINLINE void janitor_disturb(void) {
    janitor_await_more();
    atomic_store_explicit(&janitor.grown, true, memory_order_relaxed);
    os_wake(&janitor.gone, 1);
}

COLD void janitor_call_taken(const void *caller) {
    if (heap_is_in_watch())
        return;
    janitor_await_growth();
    if ((!heap_can_reach() && !janitor_may_shed()) || !janitor_is_needed(purge_waiting_bytes()))
        return;
    if (!atomic_load_explicit(&janitor_awake, memory_order_relaxed))
        janitor_wake(caller);
    else if (heap_can_reach())
        janitor_disturb();
}

void janitor_configure(size_t delay_ms, bool thread) {
    janitor.delay_ns = (uint64_t)delay_ms * 1000000;
    janitor.allowed = thread && !janitor.wrapped;
    janitor.libc = os_text_of_libc();
    janitor.linker = os_text_of_linker();
    if (janitor.delay_ns > 0 && janitor.allowed)
        janitor_await_growth();
    else
        atomic_store_explicit(&janitor_taken_most, JANITOR_NEVER, memory_order_relaxed);
}

/* Sanitizers stand before libc for good reason. */
static COLD void janitor_note_others(bool create_is_libc, bool wrapped) {
    if (next_is_sanitized())
        return;
    janitor.wrapped = wrapped;
    if (wrapped)
        janitor.allowed = false;
    const void *next = create_is_libc ? NULL : next_symbol("pthread_create");
    if (os_is_inside(&janitor.libc, next))
        janitor.create = (__typeof__(janitor.create))(uintptr_t)next;
}

/* What is bound is libc's in most programs, and calloc ours. Where another library's stands before it, as one does that counts calls, whoever frees may hold a
 * lock of its; and libc's pthread_create asks by that name for memory. */
void janitor_prepare(void) {
    if (janitor.libc.from == 0) /* nobody has allocated yet */
        janitor.libc = os_text_of_libc();
    bool create_is_libc = os_is_inside(&janitor.libc, (const void *)(uintptr_t)&pthread_create);
    bool wrapped = os_is_elsewhere((const void *)(uintptr_t)&calloc);
    if (!create_is_libc || wrapped)
        janitor_note_others(create_is_libc, wrapped);
}

void janitor_thread_came(void) {
    atomic_fetch_add_explicit(&janitor.threads, 1, memory_order_seq_cst); /* pairs with janitor_is_alone */
}

/* It finds that it is alone. */
static void janitor_end(void) {
    atomic_fetch_add_explicit(&janitor.gone, 1, memory_order_seq_cst); /* pairs with janitor_look_on */
    os_wake(&janitor.gone, 1);
    atomic_store_explicit(&janitor.awake, 1, memory_order_release); /* pairs with janitor_run */
    os_wake(&janitor.awake, 1);
}

void janitor_thread_went(void) {
    if (atomic_fetch_sub_explicit(&janitor.threads, 1, memory_order_seq_cst) == 1 &&
        atomic_load_explicit(&janitor.state, memory_order_relaxed) != JANITOR_NONE)
        janitor_end();
}

/* Relaxed: who comes later than this is refused by `unwanted`. */
static bool janitor_is_starting(void) {
    return atomic_load_explicit(&janitor.state, memory_order_relaxed) == JANITOR_STARTING;
}

/* One that starts makes calls of libc's that a filter may not know. */
COLD void janitor_note_filter(void) {
    _Atomic uint32_t never = 0;
    unsigned looks = 0;
    if (os_knows_of_filter())
        return;
    bool child = os_is_unknown_child(); /* in which no thread of ours runs */
    if (child && os_shares_memory())
        return;
    for (; !child && looks < FILTER_LOOKS && janitor_is_starting(); looks++)
        os_wait_for(&never, 0, FILTER_LOOK_NS);
    size_t threads = os_thread_count();
    bool runs = !child && atomic_load_explicit(&janitor.state, memory_order_seq_cst) == JANITOR_RUNS;
    atomic_store_explicit(&janitor.unwanted, true, memory_order_seq_cst);
    if (runs)
        janitor_end();
    for (; runs && looks < FILTER_LOOKS && os_thread_count() >= threads; looks++)
        os_wait_for(&never, 0, FILTER_LOOK_NS);
    reach_configure(false);
    os_note_filter();
}

void janitor_in_child(bool has_come) {
    limit_in_child();
    atomic_store_explicit(&janitor.threads, has_come, memory_order_relaxed); /* there is no other thread */
    if (atomic_load_explicit(&janitor.state, memory_order_relaxed) == JANITOR_NONE)
        return;
    atomic_store_explicit(&janitor.state, JANITOR_NONE, memory_order_relaxed);
    atomic_store_explicit(&janitor.awake, 0, memory_order_relaxed);
    atomic_store_explicit(&janitor_awake, false, memory_order_relaxed);
}
