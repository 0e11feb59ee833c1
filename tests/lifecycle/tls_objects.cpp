/*
 * tls_objects: may C++ thread_local objects allocate in their constructors and free in their destructors?
 *
 * Each thread owns strings, a vector of vectors and a map, all thread_local, and an object whose destructor
 * allocates again and throws inside. The order in which the runtime ends them against the library's own
 * thread exit is not known: every order must work. A blocks handed to the main thread stays valid.
 */
#include "lifecycle.h"
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::vector<std::unique_ptr<std::string>> handed_over;
int ended = 0;

struct last_user {
    std::vector<std::string> lines;

    ~last_user() {
        std::map<int, std::string> late;
        for (int i = 0; i < 200; i++)
            late[i] = std::string(static_cast<size_t>(i) * 5, 'x');
        try {
            throw std::runtime_error(late[150]);
        } catch (const std::runtime_error &error) {
            CHECK(std::string(error.what()).size() == 750);
        }
        CHECK(lines.size() == 300 && lines[299] == std::string(299, 'y'));
        churn(7, 300);
        ended++;
    }
};

thread_local last_user user;
thread_local std::map<std::string, std::vector<int>> table;
thread_local std::unique_ptr<std::string> lazily;

void body(int number) {
    for (size_t i = 0; i < 300; i++)
        user.lines.emplace_back(i, 'y');
    for (int i = 0; i < 50; i++)
        table[std::to_string(i) + " a key too long for the short form"].assign(100, i);
    lazily = std::make_unique<std::string>(5000, 'z');
    handed_over.push_back(std::make_unique<std::string>(static_cast<size_t>(number) + 100, 'w'));
}

} // namespace

int main() {
    for (int number = 0; number < 100; number++)
        std::thread(body, number).join();
    CHECK(ended == 100 && handed_over.size() == 100);
    for (const auto &text : handed_over)
        CHECK(text->find_first_not_of('w') == std::string::npos);
    return 0;
}
