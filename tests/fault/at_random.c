/*
 * at_random: do calls for memory that are refused at random do no harm?
 *
 * First argument: the seed. At rates of 1, 10 and 50 % first every kind of call is refused, where requests may be
 * denied; then only munmap, madvise and mremap, which must stay invisible. With threads. After each turn all
 * must work again. Each turn must have injected something, and a run can be repeated from its seed.
 */
#include "fault.h"

static void turn(unsigned calls, unsigned per_mille, unsigned seed) {
    unsigned long injected = 0;

    for (unsigned round = 0; injected == 0 || round < 3; round++) {
        CHECK(round < 200);
        denied = 0;
        fault_arm(calls, 0, per_mille, seed + round);
        workload(seed + round);
        threads(seed + round + 10);
        injected += fault_injected();
        CHECK((calls & FAULT_MMAP) != 0 || denied == 0);
        fault_disarm();
    }
    check_recovered();
}

int main(int argc, char **argv) {
    static const unsigned rates[] = {10, 100, 500};

    CHECK(argc > 1);
    unsigned seed = (unsigned)atoi(argv[1]);
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        dprintf(2, "seed %u, %u per mille: all kinds\n", seed, rates[i]);
        turn(FAULT_ALL, rates[i], seed);
        dprintf(2, "seed %u, %u per mille: quiet kinds\n", seed, rates[i]);
        turn(FAULT_QUIET, rates[i], seed);
    }
    return 0;
}
