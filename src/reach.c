#include "reach.h"

#include "base.h"
#include "boxes.h"
#include "os.h"

#include <string.h>

enum {
    WORDS = 256, /* of a stack, read at once */
    FIELDS = 9,  /* of a line: the number of the call, six arguments, stack pointer, program counter */
    STACK_LARGEST = 256 * 1024, /* bytes in use: a deeper one is not searched */
    HANDLERS = 4                /* places that handlers return to; libc has one */
};

static struct {
    bool possible;      /* written once, before there are threads, and at a refusal: relaxed */
    uintptr_t from, to; /* this library's code */
} reach_state;

void reach_configure(bool wanted) {
    bool possible = wanted && os_own_code(&reach_state.from, &reach_state.to);
    __atomic_store_n(&reach_state.possible, possible, __ATOMIC_RELAXED);
}

bool reach_possible(void) {
    return __atomic_load_n(&reach_state.possible, __ATOMIC_RELAXED);
}

bool reach_allowed(void) {
    return reach_possible() && !os_is_filtered() && os_proc_is_ours();
}

static void reach_refuse(void) {
    __atomic_store_n(&reach_state.possible, false, __ATOMIC_RELAXED);
}

bool reach_describe(struct reach_thread *thread, const void *word) {
    if (!reach_possible())
        return false;
    thread->stack_end = os_stack_end(word);
    __atomic_store_n(&thread->number, os_thread_number(), __ATOMIC_RELAXED);
    return true;
}

void reach_describe_forked(struct reach_thread *thread, const struct reach_thread *parent) {
    thread->stack_end = parent->stack_end;
    __atomic_store_n(&thread->number, REACH_FORKED, __ATOMIC_RELAXED);
}

/* A number, decimal or 0x...; false when there is none. Steps over it and the blank behind it. */
static bool reach_number(const char **text, uint64_t *number) {
    bool hex = (*text)[0] == '0' && (*text)[1] == 'x';
    const char *digit = hex ? *text + 2 : *text, *first = digit;
    for (*number = 0;; digit++) {
        unsigned value = *digit >= '0' && *digit <= '9'          ? (unsigned)(*digit - '0')
                         : hex && *digit >= 'a' && *digit <= 'f' ? (unsigned)(*digit - 'a' + 10)
                                                                 : 16;
        if (value > 15)
            break;
        *number = *number * (hex ? 16 : 10) + value;
    }
    *text = *digit == ' ' ? digit + 1 : digit;
    return digit > first;
}

/* The line of a thread in a system call; "running", and "-1 ..." of one that sleeps elsewhere, have fewer fields. */
static bool reach_parse(const char *text, uint64_t fields[FIELDS]) {
    for (unsigned i = 0; i < FIELDS; i++)
        if (!reach_number(&text, &fields[i]))
            return false;
    return *text == '\n' && text[1] == '\0';
}

static bool reach_is_ours(uintptr_t address) {
    return address >= reach_state.from && address < reach_state.to;
}

enum reach_found reach_begin(struct reach *reach, const struct reach_thread *thread) {
    uint64_t fields[FIELDS];
    bool refused = false;
    reach->file =
        os_open_thread(thread->number == REACH_FORKED ? os_process_number() : thread->number, &refused);
    if (refused)
        reach_refuse(); /* P2 */
    if (reach->file < 0 || os_read_again(reach->file, reach->said, sizeof reach->said) == 0)
        return REACH_RUNS;
    if (!reach_parse(reach->said, fields))
        return REACH_RUNS;
    reach->stack = fields[FIELDS - 2];
    reach->stack_end = thread->stack_end;
    if (reach->stack_end <= reach->stack || reach->stack_end - reach->stack > STACK_LARGEST)
        return REACH_BUSY; /* P1: another stack than its own, or a deep one */
    if (reach->stack % sizeof(void *) != 0 || reach_is_ours(fields[FIELDS - 1]) ||
        os_lends_stack((long)fields[0]))
        return REACH_BUSY;
    return REACH_ASLEEP;
}

/* True when no word of the stack is an address in this library, or one that a handler returns to. */
static bool reach_stack_is_clean(const struct reach *reach, const uintptr_t *handlers, unsigned count) {
    uintptr_t words[WORDS];
    for (uintptr_t at = reach->stack; at < reach->stack_end;) {
        size_t left = (reach->stack_end - at) / sizeof(void *), want = left < WORDS ? left : WORDS;
        if (want == 0)
            return true;
        if (!os_read_words(at, words, want))
            return false;
        for (size_t i = 0; i < want; i++) {
            if (reach_is_ours(words[i]))
                return false;
            for (unsigned handler = 0; handler < count; handler++)
                if (words[i] == handlers[handler])
                    return false;
        }
        at += want * sizeof(void *);
    }
    return true;
}

enum reach_found reach_confirm(struct reach *reach) {
    char says[sizeof reach->said];
    uintptr_t handlers[HANDLERS];
    unsigned count = os_handlers_return_to(handlers, HANDLERS);
    if (os_read_again(reach->file, says, sizeof says) == 0 || strcmp(says, reach->said) != 0)
        return REACH_RUNS;
    return count <= HANDLERS && reach_stack_is_clean(reach, handlers, count) ? REACH_ASLEEP : REACH_BUSY;
}

void reach_end(struct reach *reach) {
    if (reach->file >= 0)
        os_close(reach->file);
}
