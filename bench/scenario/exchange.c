// exchange: one random program for each number, whose blocks are freed by other threads than those that have made them.
//
//     exchange NUMBER            prints "<peak resident KiB> <page faults> <seconds of CPU time>"
//     exchange NUMBER describe   also says, before, what the program does
//
// Two to four threads go through the phases of the scenario of that number (phases.h) together. The number says how blocks pass in each: all threads
// put new blocks into places at random and free what was there; or each sends what it made a while ago to another one's mailbox, which is emptied now
// and then; or all fill places, and then each frees its neighbour's; or one makes what the others free, or the other way round. At the end of a phase
// each frees its neighbour's blocks, or three in four of them, and the rest stays until the end. No thread waits for a block: a mailbox that is full
// has its sender free the block itself.
#include "phases.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum passing { AT_PLACES, BY_MAIL, BY_TURNS, ONE_WAY, PASSINGS };
enum { MAILBOX = 1024, STAYS = 4 };

typedef _Atomic(unsigned char *) place;

// From one thread to another: `sent` is the sender's and `taken` the receiver's, each on a line of its own.
struct mailbox {
    _Alignas(128) _Atomic uint64_t sent;
    _Alignas(128) _Atomic uint64_t taken;
    _Alignas(128) place block[MAILBOX];
};

struct exchange {
    enum passing passing;
    unsigned emptied_after; // steps, of mailboxes
    bool gathers;           // one way: the first frees what the others make
    uint64_t count;         // places, a multiple of the threads
    place *places;
};

static struct scenario scenario;
static struct exchange exchanges[PHASES];
static struct mailbox mailboxes[THREADS][THREADS]; // [sender][receiver]

static unsigned char *made(const struct phase *phase, uint64_t *state) {
    uint64_t size = size_of_next(phase, state);
    unsigned char *block = malloc(size);
    write_block(block, size, phase->written, state);
    return block;
}

// What was at a place, which has `block` now. Places are passed on by atomic exchanges (acquire and release), so that what was written of a
// block before is seen by whoever frees it.
static unsigned char *put(place *at, unsigned char *block) {
    return atomic_exchange_explicit(at, block, memory_order_acq_rel);
}

static void free_place(place *at) {
    free(put(at, NULL));
}

static bool send(struct mailbox *to, unsigned char *block) {
    uint64_t sent = atomic_load_explicit(&to->sent, memory_order_relaxed);
    // Acquire: pairs with the release in empty(), which has read the place before.
    if (sent - atomic_load_explicit(&to->taken, memory_order_acquire) == MAILBOX)
        return false;
    atomic_store_explicit(&to->block[sent % MAILBOX], block, memory_order_relaxed);
    // Release: pairs with the acquire in empty().
    atomic_store_explicit(&to->sent, sent + 1, memory_order_release);
    return true;
}

static void empty(struct mailbox *from) {
    uint64_t taken = atomic_load_explicit(&from->taken, memory_order_relaxed);
    uint64_t sent = atomic_load_explicit(&from->sent, memory_order_acquire);
    for (; taken != sent; taken++)
        free(atomic_load_explicit(&from->block[taken % MAILBOX], memory_order_relaxed));
    atomic_store_explicit(&from->taken, taken, memory_order_release);
}

static void empty_all(unsigned me) {
    for (unsigned sender = 0; sender < scenario.threads; sender++)
        empty(&mailboxes[sender][me]);
}

static void at_places(unsigned me, const struct phase *phase, struct exchange *exchange, uint64_t *state) {
    (void)me;
    for (uint64_t step = 0; step < phase->steps / scenario.threads; step++)
        free(put(&exchange->places[below(state, exchange->count)], made(phase, state)));
}

static void by_mail(unsigned me, const struct phase *phase, struct exchange *exchange, uint64_t *state) {
    uint64_t share = exchange->count / scenario.threads;
    for (uint64_t step = 0; step < phase->steps / scenario.threads; step++) {
        unsigned char *old = put(&exchange->places[me * share + step % share], made(phase, state));
        unsigned to = (me + 1 + (unsigned)below(state, scenario.threads - 1)) % scenario.threads;
        if (old && !send(&mailboxes[me][to], old))
            free(old);
        if (step % exchange->emptied_after == 0)
            empty_all(me);
    }
    scenario_wait();
    empty_all(me);
}

static void by_turns(unsigned me, const struct phase *phase, struct exchange *exchange, uint64_t *state) {
    uint64_t share = exchange->count / scenario.threads, next = (me + 1) % scenario.threads;
    for (uint64_t done = 0; done <= phase->steps / scenario.threads; done += share) {
        for (uint64_t i = 0; i < share; i++)
            put(&exchange->places[me * share + i], made(phase, state));
        scenario_wait();
        for (uint64_t i = 0; i < share; i++)
            free_place(&exchange->places[next * share + i]);
        scenario_wait();
    }
}

static void one_way(unsigned me, const struct phase *phase, struct exchange *exchange, uint64_t *state) {
    bool alone = me == 0, makes = alone != exchange->gathers;
    uint64_t first = alone ? 0 : me - 1, step = alone ? 1 : scenario.threads - 1;
    for (uint64_t done = 0; done <= phase->steps; done += exchange->count) {
        for (uint64_t i = first; makes && i < exchange->count; i += step)
            put(&exchange->places[i], made(phase, state));
        scenario_wait();
        for (uint64_t i = first; !makes && i < exchange->count; i += step)
            free_place(&exchange->places[i]);
        scenario_wait();
    }
}

static void end_phase(unsigned me, const struct phase *phase, struct exchange *exchange) {
    uint64_t share = exchange->count / scenario.threads, next = (me + 1) % scenario.threads;
    scenario_wait();
    for (uint64_t i = 0; i < share; i++)
        if (!phase->leaves || i % STAYS != 0)
            free_place(&exchange->places[next * share + i]);
    scenario_wait();
}

static void *run(void *thread) {
    static void (*const passes[])(unsigned, const struct phase *, struct exchange *,
                                  uint64_t *) = {at_places, by_mail, by_turns, one_way};
    unsigned me = (unsigned)(uintptr_t)thread;
    uint64_t state = scenario.number * THREADS + me + 1;
    for (unsigned i = 0; i < scenario.phases; i++) {
        passes[exchanges[i].passing](me, &scenario.phase[i], &exchanges[i], &state);
        end_phase(me, &scenario.phase[i], &exchanges[i]);
    }
    for (unsigned i = 0; i < scenario.phases; i++)
        for (uint64_t at = me; at < exchanges[i].count; at += scenario.threads)
            free_place(&exchanges[i].places[at]);
    return NULL;
}

static void make_exchanges(uint64_t number) {
    uint64_t state = ~number;
    scenario = scenario_of(number);
    scenario.threads = 2 + (unsigned)below(&state, THREADS - 1);
    for (unsigned i = 0; i < scenario.phases; i++) {
        struct exchange *exchange = &exchanges[i];
        exchange->passing = (enum passing)below(&state, PASSINGS);
        exchange->emptied_after = 1u << below(&state, 9);
        exchange->gathers = below(&state, 2) == 0;
        exchange->count = (scenario.phase[i].blocks / scenario.threads + 1) * scenario.threads;
        exchange->places = calloc(exchange->count, sizeof *exchange->places);
        if (!exchange->places)
            write_block(NULL, 0, WHOLE, &state);
    }
}

static const char *passing(const struct exchange *exchange) {
    static const char *const passings[] = {"put at places at random", "sent by mail", "freed by turns"};
    if (exchange->passing == ONE_WAY)
        return exchange->gathers ? "freed by one" : "made by one";
    return passings[exchange->passing];
}

static void describe(void) {
    printf("%u phases, %u threads\n", scenario.phases, scenario.threads);
    for (unsigned i = 0; i < scenario.phases; i++) {
        const struct phase *phase = &scenario.phase[i];
        describe_blocks(phase);
        printf(", %s, %s%s; %llu steps\n", passing(&exchanges[i]), describe_written(phase),
               phase->leaves ? ", some stay" : "", (unsigned long long)phase->steps);
    }
}

int main(int count, char **words) {
    uint64_t number = 0;
    bool described = false;
    if (!scenario_words(count, words, &number, &described))
        return 2;
    make_exchanges(number);
    if (described)
        describe();
    int status = scenario_run(scenario.threads, run);
    for (unsigned i = 0; i < scenario.phases; i++)
        free(exchanges[i].places);
    return status;
}
