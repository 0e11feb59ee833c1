/* hakmem/allocator.hpp: hakmem as an allocator of the C++ standard library. Header only, C++11 and later.
 *
 *     std::vector<int, hakmem::allocator<int>> numbers;
 *
 * For a program that wants hakmem for some of its containers, whoever owns malloc and operator new.
 * All objects of the type are equal: what one allocated any other may deallocate, in any thread.
 */
#ifndef HAKMEM_ALLOCATOR_HPP
#define HAKMEM_ALLOCATOR_HPP

#include "../hakmem.h"

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <type_traits>

namespace hakmem {

/* The alignment that every block has without being asked for. */
constexpr std::size_t natural_alignment = 16;

namespace detail {

[[noreturn]] inline void out_of_memory() {
#if defined(__cpp_exceptions)
    throw std::bad_alloc();
#else
    std::abort();
#endif
}

/* `bytes` at a multiple of `alignment`, a power of two. Never NULL: asks the handler of std::set_new_handler for memory, as
 * operator new does, and without one throws std::bad_alloc, or ends the process where exceptions are switched off. */
inline void *allocate(std::size_t bytes, std::size_t alignment) {
    for (;;) {
        void *block =
            alignment <= natural_alignment ? hakmem_malloc(bytes) : hakmem_aligned_alloc(alignment, bytes);
        if (block != nullptr) {
            return block;
        }
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) {
            out_of_memory();
        }
        handler();
    }
}

} // namespace detail

/* Meets the Allocator requirements for every object type T, over-aligned ones included. */
template <class T> class allocator {
  public:
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using propagate_on_container_move_assignment = std::true_type;
    using is_always_equal = std::true_type;

    allocator() noexcept = default;
    template <class U> allocator(const allocator<U> &) noexcept {
    }

    /* Uninitialised memory for `count` objects. Throws std::bad_alloc when the system has none and no new handler
     * brings some, or when count * sizeof(T) does not fit a size_t. */
    T *allocate(std::size_t count) {
        if (count > (std::numeric_limits<std::size_t>::max)() / sizeof(T)) {
            detail::out_of_memory();
        }
        return static_cast<T *>(detail::allocate(count * sizeof(T), alignof(T)));
    }

    /* Gives back what allocate(count) returned. */
    void deallocate(T *block, std::size_t count) noexcept {
        if (alignof(T) <= natural_alignment) {
            hakmem_free_sized(block, count * sizeof(T));
        } else {
            hakmem_free_aligned_sized(block, alignof(T), count * sizeof(T));
        }
    }
};

template <class T, class U> bool operator==(const allocator<T> &, const allocator<U> &) noexcept {
    return true;
}

template <class T, class U> bool operator!=(const allocator<T> &, const allocator<U> &) noexcept {
    return false;
}

} // namespace hakmem

#endif
