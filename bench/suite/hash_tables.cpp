// hash_tables: what do C++ hash tables of strings cost, which are filled, searched, thinned out and destroyed?
//
// After the insert/find/erase rounds of Martin Ankerl's map benchmarks: std::unordered_map<std::string,
// std::string> with keys of 8..40 characters (short ones fit the string itself) and values of 0..200. WS is
// the number of keys; an operation is one insertion, search or removal.
#include "suite.h"

#include <random>
#include <string>
#include <unordered_map>

namespace {

using Table = std::unordered_map<std::string, std::string>;

std::string key_of(std::uint64_t number) {
    return std::string(1 + number % 24, static_cast<char>('a' + number % 26)) + std::to_string(number * 7919);
}

std::uint64_t round_of(Table &table, std::size_t keys, std::mt19937_64 &random) {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < keys; i++)
        table[key_of(random() % (2 * keys))] = std::string(random() % 200, 'v');
    for (std::size_t i = 0; i < keys; i++)
        found += table.count(key_of(random() % (2 * keys)));
    for (std::size_t i = 0; i < keys; i++)
        table.erase(key_of(random() % (2 * keys)));
    if (found == 0)
        suite_fail("a hash table has lost its keys");
    return 3 * keys;
}

std::uint64_t run(suite_thread *thread) {
    std::mt19937_64 random(thread->random);
    std::uint64_t operations = 0;
    while (operations < thread->share) {
        Table table;
        for (int i = 0; i < 4; i++)
            operations += round_of(table, thread->settings->working_set, random);
    }
    return operations;
}

} // namespace

extern "C" const struct suite suite = {{1000000, 10000, 1, 1}, 1u << 24, nullptr, run, nullptr};
