#include "poisson.h"

#include "base.h"
#include "boxes.h"
#include "os.h"

#define FAR 64 /* times the mean; more are as likely as exp(-64) */

/* -ln of a number of (0, 1], given in units of 2^-53. By the series of artanh: off by less than 1e-5. */
static double poisson_minus_log(uint64_t number) {
    const double ln2 = 0.693147180559945;
    unsigned shift = (unsigned)__builtin_clzll(number) - 10; /* to [1, 2) */
    double mantissa = (double)(number << shift) / (double)(1ull << 53);
    double s = (mantissa - 1) / (mantissa + 1), square = s * s;
    double log = 2 * s * (1 + square * (1.0 / 3 + square * (1.0 / 5 + square * (1.0 / 7 + square / 9))));
    return (double)shift * ln2 - log;
}

static int64_t poisson_distance(struct poisson *countdown, uint64_t rate) {
    if (rate == 1)
        return -1; /* P1 */
    uint64_t random = countdown->random;
    random ^= random >> 12;
    random ^= random << 25;
    random ^= random >> 27;
    countdown->random = random;
    double distance = poisson_minus_log((random * 0x2545f4914f6cdd1du >> 11) + 1);
    ASSERT(P2, distance >= 0);
    return (int64_t)((double)rate * (distance < FAR ? distance : FAR));
}

bool poisson_is_due(struct poisson *countdown, uint64_t rate, size_t bytes) {
    if (UNLIKELY(countdown->random == 0)) {
        countdown->random = os_random() | 1;
        countdown->left = poisson_distance(countdown, rate);
    }
    countdown->left -= (int64_t)bytes;
    if (LIKELY(countdown->left >= 0))
        return false;
    countdown->left = poisson_distance(countdown, rate);
    return true;
}
