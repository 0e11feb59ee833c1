/*
 * fork_pages: how much of what it shares with its parent does a child copy that frees and allocates?
 *
 * The parent has 20,000 blocks of 16 to 1024 bytes and a hole where every third one was. The child replaces some of them:
 * what it gets lies side by side, so that the kernel copies few pages (they are counted as page faults), and not one that it
 * only frees blocks of. It goes on until every block has been replaced many times: by then the holes that it inherited are
 * in use, too, and it has hardly more resident than its parent. Its own child does the same.
 *
 * A child whose first call is a free gives the block back to the heap that it inherited, not to its own.
 */
#include "lifecycle.h"

#include <sys/mman.h>

enum { BLOCKS = 20000, STEPS = 2000, ROUNDS = 20, FAULTS_MOST = 700, GENERATIONS = 3 };

static struct {
    unsigned char *block;
    size_t size;
} * slots;

static unsigned random_state = 1;

static unsigned char mark(unsigned slot) {
    return (unsigned char)(slot % 251 + 1);
}

static void replace(unsigned slot) {
    if (slots[slot].block) {
        CHECK(slots[slot].block[0] == mark(slot) && slots[slot].block[slots[slot].size - 1] == mark(slot));
        free(slots[slot].block);
    }
    slots[slot].size = 16 + next_random(&random_state) % 1009;
    slots[slot].block = malloc(slots[slot].size);
    CHECK(slots[slot].block != NULL);
    slots[slot].block[0] = slots[slot].block[slots[slot].size - 1] = mark(slot);
}

static long replace_some(void) {
    long before = page_faults();
    for (int step = 0; step < STEPS; step++) {
        unsigned slot = next_random(&random_state) % BLOCKS;
        replace(slot - slot % 3 + 1);
    }
    return page_faults() - before;
}

static void generation(int left) {
    long here = status_kib("VmRSS:");
    pid_t child = fork();
    if (child != 0) {
        await_child(child);
        return;
    }
    alarm(CHILD_SECONDS);
    long copied = replace_some();
    for (int round = 0; round < ROUNDS; round++)
        for (unsigned slot = 0; slot < BLOCKS; slot++)
            if (slot % 3 != 0)
                replace(slot);
    long there = status_kib("VmRSS:");
    dprintf(1, "%ld page faults for %d blocks; %ld KiB in the parent, %ld in the child\n", copied, STEPS,
            here, there);
    CHECK(copied < FAULTS_MOST);
    CHECK(there < here + here / 3);
    if (left > 1)
        generation(left - 1);
    _exit(0);
}

enum { FIRST_SIZE = 200, FIRST_TAKEN = 20 };

static void child_frees_first(void) {
    void *block = malloc(FIRST_SIZE);
    CHECK(block != NULL);
    pid_t child = fork();
    if (child != 0) {
        await_child(child);
        free(block);
        return;
    }
    alarm(CHILD_SECONDS);
    free(block);
    for (int taken = 0; taken < FIRST_TAKEN; taken++)
        CHECK(malloc(FIRST_SIZE) != block);
    _exit(0);
}

int main(void) {
    child_frees_first();
    slots = mmap(NULL, BLOCKS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(slots != MAP_FAILED);
    for (unsigned slot = 0; slot < BLOCKS; slot++)
        replace(slot);
    for (unsigned slot = 0; slot < BLOCKS; slot += 3) {
        free(slots[slot].block);
        slots[slot].block = NULL;
    }
    FILE *said = tmpfile(); /* by whichever process: they share where it ends */
    int kept = dup(2);
    CHECK(said != NULL && kept >= 0 && dup2(fileno(said), 2) == 2);
    generation(GENERATIONS);
    CHECK(dup2(kept, 2) == 2);
    CHECK(lseek(fileno(said), 0, SEEK_END) == 0); /* no block was taken for freed already */
    return 0;
}
