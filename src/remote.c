#include "remote.h"

enum slab_verdict remote_free(struct slab *slab, const void *block) {
    uint32_t number = slab_block_number(slab, block);
    if (UNLIKELY(number == SLAB_NO_BLOCK))
        return SLAB_INSIDE;
    unsigned word = number / 64;
    uint64_t bit = 1ULL << number % 64;
    /* A live block's own bit is 0 from before it was handed out: seeing 1 is proof, not a race. */
    if (UNLIKELY(__atomic_load_n(&slab->bits[word], __ATOMIC_RELAXED) & bit))
        return SLAB_DOUBLE_FREE;
    /* Release: what was written to the block comes before its reuse; pairs with remote_collect. */
    uint64_t old = __atomic_fetch_or(&slab->bits[slab->words + word], bit, __ATOMIC_ACQ_REL);
    if (UNLIKELY(old & bit))
        return SLAB_DOUBLE_FREE;
    if (old != 0)
        return SLAB_OK;
    /* Release: the bit is set before the summary says so; pairs with remote_collect's exchange. */
    if (__atomic_fetch_or(&slab->remote_summary, 1ULL << word, __ATOMIC_ACQ_REL) == 0)
        remote_deliver(slab);
    return SLAB_OK;
}

void remote_deliver(struct slab *slab) {
    struct inbox *inbox = __atomic_load_n(&slab->owner, __ATOMIC_ACQUIRE); /* pairs with slab_change_owner */
    struct slab *head = __atomic_load_n(&inbox->head, __ATOMIC_RELAXED);
    do
        __atomic_store_n(&slab->inbox_next, head, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&inbox->head, &head, slab, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    /* The release above publishes inbox_next; pairs with remote_take. The slab is not ours from here on. */
}

struct slab *remote_take(struct inbox *inbox) {
    if (__atomic_load_n(&inbox->head, __ATOMIC_RELAXED) == NULL)
        return NULL;
    return __atomic_exchange_n(&inbox->head, NULL, __ATOMIC_ACQUIRE); /* pairs with remote_deliver */
}

void remote_collect(struct slab *slab) {
    /* The summary first: a bit that comes after it finds its word 0 or taken with the others, and in the
     * first case marks the summary and delivers the slab anew. Pairs with remote_free. */
    uint64_t summary = __atomic_exchange_n(&slab->remote_summary, 0, __ATOMIC_ACQ_REL);
    ASSERT(P1, summary != 0);
    for (; summary; summary &= summary - 1) {
        unsigned word = bits_lowest(summary);
        uint64_t bits = __atomic_exchange_n(&slab->bits[slab->words + word], 0, __ATOMIC_ACQ_REL);
        uint64_t refused = slab_push_word(slab, word, bits);
        if (UNLIKELY(refused)) {
            size_t number = word * 64 + bits_lowest(refused);
            misuse_report(MISUSE_DOUBLE_FREE, slab->start + number * sizeclass_table[slab->class].size);
        }
    }
}

bool remote_is_on_its_way(const struct slab *slab) {
    return __atomic_load_n(&slab->remote_summary, __ATOMIC_ACQUIRE) != 0;
}

bool remote_is_waiting(const struct slab *slab, uint32_t number) {
    uint64_t bits = __atomic_load_n(&slab->bits[slab->words + number / 64], __ATOMIC_ACQUIRE);
    return bits >> number % 64 & 1;
}

bool remote_is_freed(const struct slab *slab, uint32_t number) {
    uint64_t bits = __atomic_load_n(&slab->bits[number / 64], __ATOMIC_RELAXED); /* as in remote_free */
    return (bits >> number % 64 & 1) || remote_is_waiting(slab, number);
}
