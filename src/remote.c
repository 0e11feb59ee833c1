#include "remote_parts.h"

void remote_deliver_class(struct slab *slab, unsigned class) {
    struct inbox *inbox = __atomic_load_n(&slab->owner, __ATOMIC_ACQUIRE); /* pairs with slab_change_owner */
    struct slab **place = &inbox->head[class], *head = __atomic_load_n(place, __ATOMIC_RELAXED);
    do
        __atomic_store_n(&slab->inbox_next, head, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(place, &head, slab, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    /* The release above publishes inbox_next; pairs with remote_take. The slab is not ours from here on. */
    if (head == NULL) /* after the push; pairs with remote_class */
        __atomic_fetch_or(&inbox->waiting[class / 64], 1ULL << class % 64, __ATOMIC_RELEASE);
}

void remote_deliver(struct slab *slab) {
    remote_deliver_class(slab, slab->class);
}

enum slab_verdict remote_free(struct slab *slab, const void *block) {
    uint32_t number = slab_block_number(slab, block);
    if (UNLIKELY(number == SLAB_NO_BLOCK || !slab_was_carved(slab, number)))
        return SLAB_INSIDE;
    /* A live block's own bit is 0 from before it was handed out: seeing 1 is proof, not a race. */
    uint64_t bit = 1ULL << number % 64, own = __atomic_load_n(&slab->bits[number / 64], __ATOMIC_RELAXED);
    if (UNLIKELY(own & bit))
        return SLAB_DOUBLE_FREE;
    return remote_set_bits(slab, slab->class, number / 64, bit) ? SLAB_DOUBLE_FREE : SLAB_OK;
}

/* Of a summary: the slab is back from a visitor. No word stands behind it: who has set the first bit of a word but not yet marked that
 * will still touch the record, and so nobody else may have the word collected. */
#define REMOTE_BACK (1ULL << 63)

void remote_return(struct slab *slab) {
    /* Release, as all here: what was done with its pages comes before anybody has blocks of them; pairs with remote_is_lent. Said
     * before the slab is delivered: the owner looks when it collects, and not again. */
    __atomic_store_n(&slab->lent, SLAB_RETURNED, __ATOMIC_RELEASE);
    if (__atomic_fetch_or(&slab->remote_summary, REMOTE_BACK, __ATOMIC_ACQ_REL) == 0)
        remote_deliver(slab);
    /* Last: from here on the slab may be deleted; pairs with remote_is_on_its_way. */
    __atomic_store_n(&slab->lent, SLAB_HELD, __ATOMIC_RELEASE);
}

bool remote_is_lent(const struct slab *slab) {
    return __atomic_load_n(&slab->lent, __ATOMIC_ACQUIRE) == SLAB_LENT; /* pairs with remote_return */
}

struct slab *remote_take(struct inbox *inbox, unsigned class) {
    struct slab **place = &inbox->head[class], *slab = inbox->taken[class];
    if (!slab && __atomic_load_n(place, __ATOMIC_RELAXED))
        slab = __atomic_exchange_n(place, NULL, __ATOMIC_ACQUIRE); /* pairs with remote_deliver */
    if (slab)
        inbox->taken[class] = __atomic_load_n(&slab->inbox_next, __ATOMIC_RELAXED);
    return slab;
}

bool remote_waits(const struct inbox *inbox) {
    uint64_t waiting = 0;
    for (unsigned i = 0; i < ARRAY_LENGTH(inbox->waiting); i++)
        waiting |= __atomic_load_n(&inbox->waiting[i], __ATOMIC_RELAXED);
    return waiting != 0;
}

unsigned remote_class(struct inbox *inbox) {
    for (unsigned i = 0; i < ARRAY_LENGTH(inbox->waiting); i++) {
        if (inbox->asked[i] == 0 && __atomic_load_n(&inbox->waiting[i], __ATOMIC_RELAXED))
            inbox->asked[i] =
                __atomic_exchange_n(&inbox->waiting[i], 0, __ATOMIC_ACQUIRE); /* pairs with remote_deliver */
        if (inbox->asked[i])
            return i * 64 + bits_lowest(inbox->asked[i]);
    }
    return SIZECLASS_COUNT;
}

void remote_class_done(struct inbox *inbox, unsigned class) {
    inbox->asked[class / 64] &= ~(1ULL << class % 64);
}

unsigned remote_collect(struct slab *slab) {
    /* The summary first: a bit that comes after it finds its word 0 or taken with the others, and in the
     * first case marks the summary and delivers the slab anew. Pairs with remote_set_bits. */
    uint64_t summary = __atomic_exchange_n(&slab->remote_summary, 0, __ATOMIC_ACQ_REL);
    ASSERT(P1, summary != 0);
    unsigned words = bits_count(summary);
    for (summary &= ~REMOTE_BACK; summary; summary &= summary - 1) {
        unsigned word = bits_lowest(summary);
        uint64_t bits = __atomic_exchange_n(slab_remote_word(slab, slab->class, word), 0, __ATOMIC_ACQ_REL);
        uint64_t refused = slab_push_word(slab, word, bits);
        if (UNLIKELY(refused))
            slab_report_refused(slab, word, refused);
    }
    return words;
}

bool remote_is_on_its_way(const struct slab *slab) {
    return __atomic_load_n(&slab->lent, __ATOMIC_ACQUIRE) != SLAB_HELD ||
           __atomic_load_n(&slab->remote_summary, __ATOMIC_ACQUIRE) != 0;
}

bool remote_is_waiting(const struct slab *slab, uint32_t number) {
    uint64_t *word = slab_remote_word((struct slab *)slab, slab->class, number / 64);
    uint64_t bits = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    return bits >> number % 64 & 1;
}

bool remote_is_freed(const struct slab *slab, uint32_t number) {
    uint64_t bits = __atomic_load_n(&slab->bits[number / 64], __ATOMIC_RELAXED); /* as in remote_free */
    return (bits >> number % 64 & 1) || remote_is_waiting(slab, number);
}
