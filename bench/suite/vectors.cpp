// vectors: what do C++ vectors cost to which elements are appended?
//
// After the first lines of nearly every C++ program: a std::vector is made, filled by push_back, read once, and dropped. Its library grows it by
// a new block of twice the length, a copy and a free, so that no block is ever asked for twice and hardly one fits where another was. The
// lengths are drawn, as many of each doubling, up to WS elements of eight bytes. An operation is one element that is appended.
#include "suite.h"

#include <numeric>
#include <random>
#include <vector>

namespace {

std::uint64_t run(suite_thread *thread) {
    std::mt19937_64 random(thread->random);
    std::uint64_t operations = 0;
    while (operations < thread->share) {
        std::uint64_t doubling = random() % 8, most = thread->settings->working_set >> doubling,
                      length = most / 2 + random() % (most / 2 + 1);
        std::vector<std::uint64_t> vector;
        for (std::uint64_t i = 0; i < length; i++)
            vector.push_back(i);
        if (std::accumulate(vector.begin(), vector.end(), std::uint64_t{0}) != length * (length - 1) / 2)
            suite_fail("an element got lost");
        operations += length;
    }
    return operations;
}

} // namespace

extern "C" const struct suite suite = {{40000000, 4000000, 1, 1}, 1u << 28, nullptr, run, nullptr};
