#include "cxx.h"

#include "alloc.h"
#include "log.h"

#include <dlfcn.h>
#include <stdbool.h>

typedef void cxx_function(void);

/* Where the runtime is linked as usual these are found by the dynamic linker. */
extern cxx_function *_ZSt15get_new_handlerv(void) WEAK;    /* std::get_new_handler() */
extern _Noreturn void _ZSt17__throw_bad_allocv(void) WEAK; /* std::__throw_bad_alloc() */

/* A function of the C++ runtime's shared library, also when only a dlopened part of the program uses it:
 * such a library is in no scope that a weak reference or RTLD_DEFAULT looks at. NULL: no runtime here. */
COLD static cxx_function *cxx_runtime_function(const char *name) {
    static const char *const runtimes[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
    union {
        void *object;
        cxx_function *function;
    } found = {NULL};
    for (size_t i = 0; i < ARRAY_LENGTH(runtimes) && found.object == NULL; i++) {
        void *runtime = dlopen(runtimes[i], RTLD_LAZY | RTLD_NOLOAD);
        if (runtime != NULL) {
            found.object = dlsym(runtime, name);
            dlclose(runtime); /* our reference only: whoever called an operator needs it loaded */
        }
    }
    return found.function;
}

/* What std::set_new_handler was given, or NULL. */
COLD static cxx_function *cxx_new_handler(void) {
    cxx_function *(*get)(void) = _ZSt15get_new_handlerv;
    if (get == NULL) {
        get = (cxx_function * (*)(void)) cxx_runtime_function("_ZSt15get_new_handlerv");
    }
    return get == NULL ? NULL : get();
}

COLD static _Noreturn void cxx_throw_bad_alloc(size_t size) {
    cxx_function *raise = _ZSt17__throw_bad_allocv;
    if (raise == NULL) {
        raise = cxx_runtime_function("_ZSt17__throw_bad_allocv");
    }
    if (raise != NULL) {
        raise();
    }
    log_die("operator new of %zu bytes failed, and no C++ runtime was found to throw std::bad_alloc", size);
}

/* After a first failure: asks the handlers for memory until one brings some or none is left. */
COLD static void *cxx_new_retry(size_t size, size_t alignment) {
    cxx_function *handler;
    while ((handler = cxx_new_handler()) != NULL) {
        handler();
        void *block = alloc_aligned(alignment, size);
        if (block != NULL) {
            return block;
        }
    }
    return NULL;
}

COLD static void *cxx_new_failed(size_t size, size_t alignment) {
    void *block = cxx_new_retry(size, alignment);
    if (block == NULL) {
        cxx_throw_bad_alloc(size);
    }
    return block;
}

/* All but a hit, apart, so that the hit saves no register. */
static NOINLINE void *cxx_new_missed(size_t size) {
    void *block = alloc_malloc(size);
    return LIKELY(block != NULL) ? block : cxx_new_failed(size, 1);
}

static void *cxx_new(size_t size) {
    void *block = alloc_try(size);
    return LIKELY(block != NULL) ? block : cxx_new_missed(size);
}

static void *cxx_new_aligned(size_t size, size_t alignment) {
    if (UNLIKELY(!is_power_of_two(alignment))) {
        cxx_throw_bad_alloc(size);
    }
    void *block = alloc_aligned_for(alignment, size, __builtin_return_address(0));
    return LIKELY(block != NULL) ? block : cxx_new_failed(size, alignment);
}

static void *cxx_new_array(size_t size) {
    return _Znwm(size);
}

static void *cxx_new_array_aligned(size_t size, size_t alignment) {
    return _ZnwmSt11align_val_t(size, alignment);
}

/* A nothrow new must stop what a handler or a replaced new throws. Only C++ can; so the runtime's own nothrow
 * operator does it, which calls the throwing one by name: ours, or the program's. */
COLD static void *cxx_new_caught(const char *name, size_t size, const void *nothrow) {
    void *(*runtime)(size_t, const void *) = (void *(*)(size_t, const void *))cxx_runtime_function(name);
    if (runtime != NULL) {
        return runtime(size, nothrow);
    }
    return _Znwm == cxx_new ? cxx_new_retry(size, 1) : _Znwm(size);
}

COLD static void *cxx_new_aligned_caught(const char *name, size_t size, size_t alignment,
                                         const void *nothrow) {
    void *(*runtime)(size_t, size_t, const void *) =
        (void *(*)(size_t, size_t, const void *))cxx_runtime_function(name);
    if (runtime != NULL) {
        return runtime(size, alignment, nothrow);
    }
    return _ZnwmSt11align_val_t == cxx_new_aligned ? cxx_new_retry(size, alignment)
                                                   : _ZnwmSt11align_val_t(size, alignment);
}

static ALWAYS_INLINE void *cxx_new_nothrow(const char *name, bool ours, size_t size, const void *nothrow) {
    if (LIKELY(ours)) {
        void *block = alloc_malloc(size);
        if (LIKELY(block != NULL) || cxx_new_handler() == NULL) {
            return block;
        }
    }
    return cxx_new_caught(name, size, nothrow);
}

static ALWAYS_INLINE void *cxx_new_aligned_nothrow(const char *name, bool ours, size_t size, size_t alignment,
                                                   const void *nothrow) {
    if (LIKELY(ours)) {
        void *block = is_power_of_two(alignment)
                          ? alloc_aligned_for(alignment, size, __builtin_return_address(0))
                          : NULL;
        if (LIKELY(block != NULL) || cxx_new_handler() == NULL) {
            return block;
        }
    }
    return cxx_new_aligned_caught(name, size, alignment, nothrow);
}

static void *cxx_new_plain_nothrow(size_t size, const void *nothrow) {
    return cxx_new_nothrow("_ZnwmRKSt9nothrow_t", _Znwm == cxx_new, size, nothrow);
}

static void *cxx_new_array_nothrow(size_t size, const void *nothrow) {
    bool ours = _Znwm == cxx_new && _Znam == cxx_new_array;
    return cxx_new_nothrow("_ZnamRKSt9nothrow_t", ours, size, nothrow);
}

static void *cxx_new_plain_aligned_nothrow(size_t size, size_t alignment, const void *nothrow) {
    bool ours = _ZnwmSt11align_val_t == cxx_new_aligned;
    return cxx_new_aligned_nothrow("_ZnwmSt11align_val_tRKSt9nothrow_t", ours, size, alignment, nothrow);
}

static void *cxx_new_array_aligned_nothrow(size_t size, size_t alignment, const void *nothrow) {
    bool ours = _ZnwmSt11align_val_t == cxx_new_aligned && _ZnamSt11align_val_t == cxx_new_array_aligned;
    return cxx_new_aligned_nothrow("_ZnamSt11align_val_tRKSt9nothrow_t", ours, size, alignment, nothrow);
}

/* The rows of exports.def. */
#define EXPORTED_NEW(name, function, signature) EXPORT __typeof__(function) name ALIAS_OF(function);
#define EXPORTED_DELETE(name, parameters, callee, arguments, signature) \
    EXPORT void name parameters {                                       \
        callee arguments;                                               \
    }
#include "exports.def"
