// Random programs: what all kinds of them share (scenario.c, where a thread frees its own blocks; exchange.c, where others do; application.c, which has
// the run of threads from here, but no phases).
//
// A program has one to four phases. A phase has blocks of a few lengths, or of a range, evenly or by their logarithm (8 bytes to 2 MB; 0.2 to 50 MB
// together). Blocks are written whole, or only at both ends, in half, or one in three. The same number is the same program under every allocator.
#ifndef HAKMEM_BENCH_PHASES_H
#define HAKMEM_BENCH_PHASES_H

#include <stdbool.h>
#include <stdint.h>

enum { PHASES = 4, LENGTHS = 8, THREADS = 4 };
enum sizes { LISTED, EVEN, BY_LOGARITHM, SIZES };
enum order { AT_RANDOM, IN_ORDER, STACK, WAVES, ORDERS };
enum written { WHOLE, BOTH_ENDS, HALF, ONE_IN_THREE };

struct phase {
    enum sizes sizes;
    enum order order; // of a thread's own places
    enum written written;
    unsigned lengths;
    uint64_t length[LENGTHS], least, most;
    uint64_t blocks, steps; // of all threads
    bool grows;             // by realloc, half of the time
    bool leaves;            // some blocks
};

struct scenario {
    uint64_t number;
    unsigned phases, threads;
    struct phase phase[PHASES];
};

// splitmix64 (Steele, Lea, Flood 2014).
uint64_t next_random(uint64_t *state);
uint64_t below(uint64_t *state, uint64_t bound);

// From `least` to `most`, each doubling as likely as the others.
uint64_t by_logarithm(uint64_t *state, uint64_t least, uint64_t most);

// The program of this number, of one to four threads.
struct scenario scenario_of(uint64_t number);

// Bytes of the next block of a phase.
uint64_t size_of_next(const struct phase *phase, uint64_t *state);

// Writes of the block what the phase writes; ends the program when there is none.
void write_block(unsigned char *block, uint64_t size, enum written how, uint64_t *state);

// "90 blocks of a range, 8 to 60 bytes"; "written whole".
void describe_blocks(const struct phase *phase);
const char *describe_written(const struct phase *phase);

// NUMBER [describe]; true if these are the words, with *number set and *describe. Says otherwise how it is used.
bool scenario_words(int count, char **words, uint64_t *number, bool *describe);

// Runs `thread` in so many threads, its argument their index, the first one in this; then prints "<peak resident KiB> <page faults> <seconds of CPU
// time>". The program's exit status.
int scenario_run(unsigned threads, void *(*thread)(void *index));

// All threads of the run wait for each other.
void scenario_wait(void);

#endif
