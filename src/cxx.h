/* cxx: the C++ operators new and delete, written in C under their mangled names.
 *
 * Owns every C++ name of exports.def, so that the library needs no C++ runtime. A program may replace some
 * operators and expects the others to follow, as C++ promises: each derived operator calls its base by name,
 * through the dynamic symbol, and all are weak so that a definition of the program wins over the archive too.
 *
 * When a new fails, the handler of std::set_new_handler is called until it helps or is gone; then the runtime
 * itself throws std::bad_alloc through these frames. So this file needs unwind tables (-fexceptions
 * -fasynchronous-unwind-tables) and must not be linked with -Bsymbolic.
 *
 * P1  a new that fails calls the handler, and throws std::bad_alloc when there is none (nothrow: NULL)
 * P2  a derived operator follows a replaced base
 * P3  what a handler throws in a nothrow new is caught, wherever the C++ runtime is a shared library;
 *     a program with a static runtime sees it pass
 *
 * Called by the program. Never included by another room.
 */
#ifndef HAKMEM_CXX_H
#define HAKMEM_CXX_H

#include "base.h"

#include <stddef.h>

/* The tag std::nothrow is passed by address and never looked at. */
void *_Znwm(size_t size) WEAK;
void *_Znam(size_t size) WEAK;
void *_ZnwmSt11align_val_t(size_t size, size_t alignment) WEAK;
void *_ZnamSt11align_val_t(size_t size, size_t alignment) WEAK;
void *_ZnwmRKSt9nothrow_t(size_t size, const void *nothrow) WEAK;
void *_ZnamRKSt9nothrow_t(size_t size, const void *nothrow) WEAK;
void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t alignment, const void *nothrow) WEAK;
void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t alignment, const void *nothrow) WEAK;

#define EXPORTED_DELETE(name, parameters, callee, arguments, signature) void name parameters WEAK;
#include "exports.def"

#endif
