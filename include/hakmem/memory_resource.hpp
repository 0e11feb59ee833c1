/* hakmem/memory_resource.hpp: hakmem as a std::pmr::memory_resource. Header only, C++17 and later.
 *
 *     std::pmr::vector<int> numbers(hakmem::resource());
 *     std::pmr::set_default_resource(hakmem::resource());
 *
 * There is one resource in a process, used by any number of threads at a time, and it is never destroyed.
 */
#ifndef HAKMEM_MEMORY_RESOURCE_HPP
#define HAKMEM_MEMORY_RESOURCE_HPP

#include "allocator.hpp"

#include <memory_resource>
#include <new>
#include <typeinfo>

namespace hakmem {

class memory_resource final : public std::pmr::memory_resource {
  public:
    memory_resource(const memory_resource &) = delete;
    memory_resource &operator=(const memory_resource &) = delete;

  private:
    friend std::pmr::memory_resource *resource() noexcept;
    memory_resource() = default;

    /* Throws std::bad_alloc when the system has no memory and no new handler brings some; `alignment` is a power of two. */
    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        return detail::allocate(bytes, alignment);
    }

    void do_deallocate(void *block, std::size_t bytes, std::size_t alignment) override {
        if (alignment <= natural_alignment) {
            hakmem_free_sized(block, bytes);
        } else {
            hakmem_free_aligned_sized(block, alignment, bytes);
        }
    }

    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override {
#ifdef __cpp_rtti /* each library that hides its inline functions has a resource of its own, on the one heap */
        return this == &other || typeid(other) == typeid(memory_resource);
#else
        return this == &other;
#endif
    }
};

/* The resource. Never NULL; its lifetime is the process's, so that destructors of static objects may use it. */
inline std::pmr::memory_resource *resource() noexcept {
    alignas(memory_resource) static unsigned char storage[sizeof(memory_resource)];
    static memory_resource *const the_resource = ::new (static_cast<void *>(storage)) memory_resource;
    return the_resource;
}

} // namespace hakmem

#endif
