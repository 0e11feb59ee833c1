#include "visit.h"

#include "os.h"

/* A slow path takes a microsecond or so; an owner that takes a hundred times as long does not run. */
enum { LOOKS = 20000 };

COLD void visit_wait(struct visit *visit) {
    do {
        visit_leave(visit);
        while (atomic_load_explicit(&visit->wanted, memory_order_acquire)) /* pairs with visit_end */
            os_wait(&visit->wanted, 1);
        atomic_exchange_explicit(&visit->busy, 1, memory_order_seq_cst);
    } while (atomic_load_explicit(&visit->wanted, memory_order_seq_cst));
}

bool visit_begin(struct visit *visit) {
    atomic_exchange_explicit(&visit->wanted, 1,
                             memory_order_seq_cst); /* pairs with visit_enter, by the barrier */
    bool barrier = os_barrier_everywhere() || has(asserts);
    for (unsigned look = 0; barrier && look < LOOKS; look++) {
        if (atomic_load_explicit(&visit->busy, memory_order_acquire) == 0) /* pairs with visit_leave */
            return true;
        base_pause();
    }
    visit_end(visit);
    return false;
}

void visit_end(struct visit *visit) {
    atomic_store_explicit(&visit->wanted, 0,
                          memory_order_release); /* pairs with visit_enter and visit_wait */
    os_wake(&visit->wanted, 1);
}
