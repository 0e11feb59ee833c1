/* Containers of the standard library on every way that hakmem offers itself to C++: the operators, the allocator
 * hakmem::allocator and the memory resource hakmem::resource(). Linked against the library, not preloaded. */
#include "check.hpp"

#include "hakmem/allocator.hpp"
#include "hakmem/memory_resource.hpp"

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <numeric>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

struct alignas(128) wide {
    double values[16] = {};
};

template <class Map> void exercise_map(Map &map) {
    for (int i = 0; i < 20000; i++) {
        map[i * 7 % 10007] += i;
    }
    for (int i = 0; i < 5000; i++) {
        map.erase(i);
    }
    CHECK(map.size() == 10007 - 5000);
}

void containers_of_the_operators() {
    std::map<int, long> tree;
    exercise_map(tree);
    std::unordered_map<int, long> table;
    exercise_map(table);
    std::vector<std::string> texts;
    for (int i = 0; i < 5000; i++) {
        texts.push_back(std::string(static_cast<std::size_t>(i % 300), 'x'));
    }
    std::size_t total = 0;
    for (const std::string &text : texts) {
        total += text.size();
    }
    CHECK(total == 5000 / 300 * (299 * 300 / 2) + (200 * 199 / 2));
    std::vector<std::unique_ptr<wide>> wides;
    for (int i = 0; i < 100; i++) {
        wides.push_back(std::make_unique<wide>());
        CHECK(reinterpret_cast<std::uintptr_t>(wides.back().get()) % alignof(wide) == 0);
    }
}

void containers_of_the_allocator() {
    std::map<int, long, std::less<int>, hakmem::allocator<std::pair<const int, long>>> tree;
    exercise_map(tree);
    std::vector<int, hakmem::allocator<int>> numbers(1000000);
    std::iota(numbers.begin(), numbers.end(), 0);
    CHECK(numbers[999999] == 999999);
    std::list<wide, hakmem::allocator<wide>> list(50);
    for (const wide &item : list) {
        CHECK(reinterpret_cast<std::uintptr_t>(&item) % alignof(wide) == 0);
    }
    std::shared_ptr<std::string> shared =
        std::allocate_shared<std::string>(hakmem::allocator<std::string>(), "text");
    CHECK(*shared == "text");
    CHECK(hakmem::allocator<int>() == hakmem::allocator<wide>());
    bool thrown = false;
    try {
        volatile std::size_t count = SIZE_MAX / 2;
        (void)hakmem::allocator<int>().allocate(count);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown);
}

void containers_of_the_resource() {
    CHECK(hakmem::resource()->is_equal(*hakmem::resource()));
    CHECK(!hakmem::resource()->is_equal(*std::pmr::new_delete_resource()));
    std::pmr::map<int, long> tree(hakmem::resource());
    exercise_map(tree);
    std::pmr::vector<std::pmr::string> texts(hakmem::resource());
    for (int i = 0; i < 1000; i++) {
        texts.emplace_back(100, 'y');
    }
    CHECK(texts[999].get_allocator().resource() == hakmem::resource());
    void *block = hakmem::resource()->allocate(1000, 4096);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % 4096 == 0);
    hakmem::resource()->deallocate(block, 1000, 4096);
    std::pmr::synchronized_pool_resource pool(hakmem::resource());
    std::pmr::vector<int> numbers(100000, 3, &pool);
    CHECK(numbers[99999] == 3);
}

int handled;

/* Helps no more the third time. */
void handle() {
    if (++handled == 3) {
        std::set_new_handler(nullptr);
    }
}

/* The allocator and the resource ask the new handler, as what they stand for does. */
void handlers_are_asked() {
    volatile std::size_t bytes = PTRDIFF_MAX - 65536;
    const auto fails = [](const auto &allocation) {
        handled = 0;
        std::set_new_handler(handle);
        try {
            (void)allocation();
        } catch (const std::bad_alloc &) {
            return handled == 3;
        }
        return false;
    };
    CHECK(fails([&] { return std::allocator<char>().allocate(bytes); }));
    CHECK(fails([&] { return hakmem::allocator<char>().allocate(bytes); }));
    CHECK(fails([&] { return hakmem::allocator<wide>().allocate(bytes / sizeof(wide)); }));
    CHECK(fails([&] { return hakmem::resource()->allocate(bytes); }));
    handled = 0;
    std::set_new_handler(handle);
    try {
        (void)hakmem::allocator<wide>().allocate(bytes); /* no size: nothing to ask for */
    } catch (const std::bad_alloc &) {
        CHECK(handled == 0);
    }
    std::set_new_handler(nullptr);
}

/* What one thread made another destroys. */
void containers_cross_threads() {
    for (int round = 0; round < 10; round++) {
        auto texts = std::make_unique<std::vector<std::string>>();
        std::thread([&] {
            for (int i = 0; i < 2000; i++) {
                texts->push_back(std::string(100, 'z'));
            }
        }).join();
        std::thread([moved = std::move(texts)] { CHECK(moved->size() == 2000); }).join();
    }
}

} // namespace

int main() {
    containers_of_the_operators();
    containers_of_the_allocator();
    containers_of_the_resource();
    containers_cross_threads();
    handlers_are_asked();
    return check_result();
}
