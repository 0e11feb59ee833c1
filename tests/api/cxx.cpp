/* The C++ operators under hakmem, with plain checks: new_handler honoured, std::bad_alloc thrown, nothrow that
 * never throws, every form of new with every form of delete, over-aligned types. */
#include "check.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace {

/* As large as PTRDIFF_MAX: no system has it, and no compiler may reason about it. */
std::size_t impossible() {
    static volatile std::size_t size = static_cast<std::size_t>(PTRDIFF_MAX) - 4096;
    return size;
}

const std::align_val_t aligned{256};

int handler_calls;

void count_and_retire() {
    if (++handler_calls == 3) {
        std::set_new_handler(nullptr);
    }
}

struct handler_error : std::runtime_error {
    handler_error() : std::runtime_error("from the handler") {
    }
};

void count_and_throw() {
    ++handler_calls;
    throw handler_error();
}

template <class F> bool throws_bad_alloc(F allocate) {
    try {
        allocate();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

template <class F> void expect_bad_alloc(F allocate) {
    std::set_new_handler(nullptr);
    CHECK(throws_bad_alloc(allocate));

    handler_calls = 0;
    std::set_new_handler(count_and_retire);
    CHECK(throws_bad_alloc(allocate));
    CHECK(handler_calls == 3);

    handler_calls = 0;
    std::set_new_handler(count_and_throw);
    bool passed = false;
    try {
        allocate();
    } catch (const handler_error &error) {
        passed = std::string(error.what()) == "from the handler";
    }
    CHECK(passed);
    CHECK(handler_calls == 1);
    std::set_new_handler(nullptr);
}

template <class F> void expect_null(F allocate) {
    std::set_new_handler(nullptr);
    CHECK(allocate() == nullptr);

    handler_calls = 0;
    std::set_new_handler(count_and_retire);
    CHECK(allocate() == nullptr);
    CHECK(handler_calls == 3);

    handler_calls = 0;
    std::set_new_handler(count_and_throw);
    CHECK(allocate() == nullptr);
    CHECK(handler_calls == 1);
    std::set_new_handler(nullptr);
}

/* cxx P1, cxx P3 */
void failing_news() {
    expect_bad_alloc([] { return ::operator new(impossible()); });
    expect_bad_alloc([] { return ::operator new[](impossible()); });
    expect_bad_alloc([] { return ::operator new(impossible(), aligned); });
    expect_bad_alloc([] { return ::operator new[](impossible(), aligned); });
    expect_null([] { return ::operator new(impossible(), std::nothrow); });
    expect_null([] { return ::operator new[](impossible(), std::nothrow); });
    expect_null([] { return ::operator new(impossible(), aligned, std::nothrow); });
    expect_null([] { return ::operator new[](impossible(), aligned, std::nothrow); });
}

/* A handler that brings memory: it gives a reserve back while the process may not have more address space. */
void *reserve;

void give_the_reserve() {
    ++handler_calls;
    std::free(reserve);
    reserve = nullptr;
}

/* Bytes of address space in use, 0 where there is no /proc. */
std::size_t address_space() {
    unsigned long pages = 0;
    if (std::FILE *statm = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(statm, "%lu", &pages) != 1) {
            pages = 0;
        }
        std::fclose(statm);
    }
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void a_handler_that_helps() {
    const std::size_t mib = std::size_t{1} << 20;
    reserve = std::malloc(96 * mib);
    std::size_t used = address_space();
    rlimit before;
    if (reserve == nullptr || used == 0 || getrlimit(RLIMIT_AS, &before) != 0) {
        std::free(reserve);
        return;
    }
    rlimit tight = before;
    tight.rlim_cur = used + 16 * mib;
    if (tight.rlim_cur < before.rlim_cur) {
        CHECK(setrlimit(RLIMIT_AS, &tight) == 0);
        handler_calls = 0;
        std::set_new_handler(give_the_reserve);
        void *block = ::operator new(64 * mib);
        CHECK(handler_calls == 1);
        std::set_new_handler(nullptr);
        ::operator delete(block);
        CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    }
    std::free(reserve);
}

/* A destructor on the way of the exception runs: the frames of the allocator carry their unwind tables. */
void unwinding_passes() {
    struct guard {
        bool &flag;
        ~guard() {
            flag = true;
        }
    };
    bool ran = false;
    bool thrown = throws_bad_alloc([&] {
        guard on_the_way{ran};
        return ::operator new(impossible());
    });
    CHECK(thrown);
    CHECK(ran);
}

struct alignas(512) over_aligned {
    unsigned char bytes[1024];
    over_aligned() {
        std::memset(bytes, 7, sizeof bytes);
    }
    ~over_aligned() {
        CHECK(bytes[0] == 7 && bytes[1023] == 7);
    }
};

struct plain {
    std::string text;
    int number;
    plain() : text("a text that is too long for the small string buffer"), number(42) {
    }
    ~plain() {
        CHECK(number == 42 && text.size() == 51);
    }
};

void news_and_deletes_of_types() {
    for (int round = 0; round < 200; round++) {
        over_aligned *one = new over_aligned;
        over_aligned *many = new over_aligned[5];
        CHECK(reinterpret_cast<std::uintptr_t>(one) % 512 == 0);
        CHECK(reinterpret_cast<std::uintptr_t>(many) % 512 == 0);
        plain *single = new plain;
        plain *several = new (std::nothrow) plain[9];
        CHECK(several != nullptr);
        delete one;
        delete[] many;
        delete single;
        delete[] several;
    }
}

void every_new_with_every_delete() {
    for (std::size_t size : {0, 1, 16, 100, 5000, 40000, 2000000}) {
        ::operator delete(::operator new(size));
        ::operator delete(::operator new(size), size);
        ::operator delete(::operator new(size), std::nothrow);
        ::operator delete(::operator new(size, std::nothrow), size);
        ::operator delete[](::operator new[](size));
        ::operator delete[](::operator new[](size), size);
        ::operator delete[](::operator new[](size), std::nothrow);
        ::operator delete[](::operator new[](size, std::nothrow));
        ::operator delete(::operator new(size, aligned), aligned);
        ::operator delete(::operator new(size, aligned), size, aligned);
        ::operator delete(::operator new(size, aligned, std::nothrow), aligned, std::nothrow);
        ::operator delete[](::operator new[](size, aligned), aligned);
        ::operator delete[](::operator new[](size, aligned), size, aligned);
        ::operator delete[](::operator new[](size, aligned, std::nothrow), aligned, std::nothrow);
    }
    ::operator delete(nullptr);
    ::operator delete[](nullptr, std::size_t{5});
}

} // namespace

int main() {
    failing_news();
    unwinding_passes();
    a_handler_that_helps();
    news_and_deletes_of_types();
    every_new_with_every_delete();
    return check_result();
}
