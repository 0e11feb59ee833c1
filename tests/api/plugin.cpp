/* A C++ plugin: its news fail, and it catches what they throw. */
#include <cstddef>
#include <cstdint>
#include <new>

extern "C" __attribute__((visibility("default"))) int plugin_run() {
    volatile std::size_t impossible = static_cast<std::size_t>(PTRDIFF_MAX) - 4096;
    int caught = 0;
    try {
        ::operator delete(::operator new(impossible));
    } catch (const std::bad_alloc &) {
        caught |= 1;
    }
    std::set_new_handler([] { throw std::bad_alloc(); });
    if (::operator new(impossible, std::nothrow) == nullptr) {
        caught |= 2;
    }
    std::set_new_handler(nullptr);
    return caught;
}
