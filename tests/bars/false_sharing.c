/*
 * false_sharing: do blocks of two threads ever lie in one cache line?
 *
 * Told by addresses. Two threads take blocks of 8, 16, 24, 40 and 48 bytes in turns, so that their calls are as mixed
 * as can be.
 *   active    no line holds blocks that two threads have taken
 *   passive   each thread then frees every other block of its neighbour, and takes as many anew: none of these may lie
 *             in a line where a live block of the other one's is. Eight rounds, so that the survivors are of all ages.
 *
 * "passive" is asked while both threads live: a thread that inherits slabs of one that has ended may well have to put
 * blocks beside those that the dead one left.
 */
#include "bars.h"

enum { BLOCKS = 4000, LINE = 64, ROUNDS = 8, TURN = 5 };

static const size_t sizes[] = {8, 16, 24, 40, 48};

struct side {
    unsigned char *blocks[BLOCKS];
    size_t sizes[BLOCKS];
};

static struct side sides[2];
static pthread_barrier_t turn;
static unsigned long active, passive;

struct piece {
    uintptr_t line;
    unsigned side;
};

static int by_line(const void *a, const void *b) {
    const struct piece *left = a, *right = b;

    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    return (int)left->side - (int)right->side;
}

/* Lines that hold blocks of both sides. */
static unsigned long shared_lines(void) {
    static struct piece pieces[4 * BLOCKS];
    size_t count = 0;
    unsigned long shared = 0;

    for (unsigned side = 0; side < 2; side++) {
        for (int i = 0; i < BLOCKS; i++) {
            uintptr_t block = (uintptr_t)sides[side].blocks[i];
            CHECK(block != 0);
            pieces[count++] = (struct piece){block / LINE, side};
            pieces[count++] = (struct piece){(block + sides[side].sizes[i] - 1) / LINE, side};
        }
    }
    qsort(pieces, count, sizeof pieces[0], by_line);
    for (size_t i = 1; i < count; i++)
        shared += pieces[i].line == pieces[i - 1].line && pieces[i].side != pieces[i - 1].side;
    return shared;
}

/* Fills the empty places of one side, a few at a time, while the other does the same. */
static void refill(unsigned number, unsigned round) {
    struct side *mine = &sides[number];

    for (int i = 0; i < BLOCKS; i++) {
        if (i % TURN == 0)
            pthread_barrier_wait(&turn);
        if (mine->blocks[i] != NULL)
            continue;
        mine->sizes[i] = sizes[((unsigned)i / 2 + round) % (sizeof sizes / sizeof sizes[0])];
        mine->blocks[i] = taken(mine->sizes[i]);
    }
    pthread_barrier_wait(&turn);
}

static void *body(void *argument) {
    unsigned number = (unsigned)(uintptr_t)argument;
    struct side *other = &sides[1 - number];

    refill(number, 0);
    if (number == 0)
        active = shared_lines();
    for (unsigned round = 1; round <= ROUNDS; round++) {
        pthread_barrier_wait(&turn);
        for (unsigned i = round % 2; i < BLOCKS; i += 2) {
            free(other->blocks[i]);
            other->blocks[i] = NULL;
        }
        pthread_barrier_wait(&turn);
        refill(number, round);
        if (number == 0)
            passive += shared_lines();
    }
    pthread_barrier_wait(&turn);
    return NULL;
}

int main(void) {
    pthread_t threads[2];

    setvbuf(stdout, NULL, _IOLBF, 4096);
    pthread_barrier_init(&turn, NULL, 2);
    for (uintptr_t i = 0; i < 2; i++)
        threads[i] = start_thread(body, (void *)i);
    for (int i = 0; i < 2; i++)
        join_thread(threads[i]);
    printf("lines with blocks of both threads: %lu, after frees by the other %lu in %d rounds\n", active,
           passive, ROUNDS);
    BAR(active == 0, "active false sharing: %lu lines", active);
    BAR(passive == 0, "passive false sharing: %lu lines", passive);
    return bars_result();
}
