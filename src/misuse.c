#include "misuse.h"

#include "base.h"
#include "boxes.h"
#include "log.h"

#include <stdatomic.h>

static struct {
    _Atomic bool said[MISUSE_KINDS]; /* relaxed: pairs with nothing, it only counts to one */
} misuses;

void misuse_report(enum misuse kind, const void *address) {
    /* No pointers: the linker would have to relocate them at each program's start. */
    static const char behind[MISUSE_KINDS][80] = {
        [MISUSE_INSIDE] = ", which is inside a block",
        [MISUSE_FOREIGN] = ", which is not a block of hakmem",
        [MISUSE_GONE] = ", which is not a block of hakmem, or not any more: was it freed before?",
    };
    const char *what = kind == MISUSE_DOUBLE_FREE ? "double free" : "free";
    unsigned long number = (unsigned long)(uintptr_t)address;
    if (has(verify_free))
        log_die("%s of 0x%lx%s", what, number, behind[kind]);
    if (!has(report_foreign))
        return;
    if (atomic_exchange_explicit(&misuses.said[kind], true, memory_order_relaxed))
        return;
    log_line("%s of 0x%lx%s", what, number, behind[kind]);
}
