#include "misuse.h"

#include "base.h"
#include "boxes.h"
#include "log.h"

#include <stdatomic.h>

static struct {
    _Atomic bool said[MISUSE_KINDS]; /* relaxed: pairs with nothing, it only counts to one */
} misuses;

void misuse_report(enum misuse kind, const void *address) {
    static const char *const words[MISUSE_KINDS][2] = {
        [MISUSE_DOUBLE_FREE] = {"double free of 0x", ""},
        [MISUSE_INSIDE] = {"free of 0x", ", which is inside a block"},
        [MISUSE_FOREIGN] = {"free of 0x", ", which is not a block of hakmem"},
        [MISUSE_GONE] = {"free of 0x",
                         ", which is not a block of hakmem, or not any more: was it freed before?"},
    };
    unsigned long number = (unsigned long)(uintptr_t)address;
    if (has(verify_free))
        log_die("%s%lx%s", words[kind][0], number, words[kind][1]);
    if (!has(report_foreign))
        return;
    if (atomic_exchange_explicit(&misuses.said[kind], true, memory_order_relaxed))
        return;
    log_line("%s%lx%s", words[kind][0], number, words[kind][1]);
}
