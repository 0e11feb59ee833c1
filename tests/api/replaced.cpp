/* cxx P2: a program that replaces the two base operators, as C++ allows, and expects the derived ones to follow.
 * Its blocks are not the allocator's: a derived delete that went there directly would hand it a foreign pointer. */
#include "check.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

const std::size_t prefix = 32;
int news, deletes;

} // namespace

void *operator new(std::size_t size) {
    ++news;
    char *block = size > 1000000 ? nullptr : static_cast<char *>(std::malloc(size + prefix));
    if (block == nullptr) {
        throw std::bad_alloc();
    }
    return block + prefix;
}

void operator delete(void *block) noexcept {
    ++deletes;
    if (block != nullptr) {
        std::free(static_cast<char *>(block) - prefix);
    }
}

namespace {

template <class F> void expect_one(F make_and_destroy) {
    int news_before = news, deletes_before = deletes;
    make_and_destroy();
    CHECK(news == news_before + 1);
    CHECK(deletes == deletes_before + 1);
}

} // namespace

int main() {
    expect_one([] { ::operator delete(::operator new(10)); });
    expect_one([] { ::operator delete (::operator new(10), std::size_t{10}); });
    expect_one([] { ::operator delete(::operator new(10, std::nothrow), std::nothrow); });
    expect_one([] { ::operator delete[](::operator new[](10)); });
    expect_one([] { ::operator delete[](::operator new[](10), std::size_t{10}); });
    expect_one([] { ::operator delete[](::operator new[](10, std::nothrow), std::nothrow); });
    CHECK(::operator new(2000000, std::nothrow) == nullptr);
    CHECK(::operator new[](2000000, std::nothrow) == nullptr);
    return check_result();
}
