#include "remote.h"

enum { PARCELS = 32 }; /* words that a sender keeps open */

/* Sets bits of one word for the owner to collect. Returns those of them that were free already. */
static uint64_t remote_free_word(struct slab *slab, unsigned word, uint64_t bits) {
    /* A live block's own bit is 0 from before it was handed out: seeing 1 is proof, not a race. */
    uint64_t refused = __atomic_load_n(&slab->bits[word], __ATOMIC_RELAXED) & bits;
    if (UNLIKELY((bits &= ~refused) == 0))
        return refused;
    /* Release: what was written to the blocks comes before their reuse; pairs with remote_collect. */
    uint64_t old = __atomic_fetch_or(slab_remote_word(slab, slab->class, word), bits, __ATOMIC_ACQ_REL);
    /* Release: the bits are set before the summary says so; pairs with remote_collect's exchange. */
    if (old == 0 && __atomic_fetch_or(&slab->remote_summary, 1ULL << word, __ATOMIC_ACQ_REL) == 0)
        remote_deliver(slab);
    return refused | (old & bits);
}

enum slab_verdict remote_free(struct slab *slab, const void *block) {
    uint32_t number = slab_block_number(slab, block);
    if (UNLIKELY(number == SLAB_NO_BLOCK))
        return SLAB_INSIDE;
    return remote_free_word(slab, number / 64, 1ULL << number % 64) ? SLAB_DOUBLE_FREE : SLAB_OK;
}

static void remote_report_refused(const struct slab *slab, unsigned word, uint64_t refused) {
    size_t number = word * 64 + bits_lowest(refused);
    misuse_report(MISUSE_DOUBLE_FREE, slab->start + number * sizeclass_table[slab->class].size);
}

/* Blocks of one word of one slab that are about to be sent. */
struct parcel {
    struct slab *slab;
    uint64_t bits;
    unsigned word;
};

static void remote_send_parcel(const struct parcel *parcel) {
    uint64_t refused = remote_free_word(parcel->slab, parcel->word, parcel->bits);
    if (UNLIKELY(refused))
        remote_report_refused(parcel->slab, parcel->word, refused);
}

/* Adds to the parcel for that word; what stands in its place goes first. */
static void remote_pack(struct parcel *parcels, const struct parcel *more) {
    size_t place = ((uintptr_t)more->slab / CACHE_LINE ^ more->word * 5) % PARCELS;
    struct parcel *parcel = &parcels[place];
    if (parcel->slab == more->slab && parcel->word == more->word && !(parcel->bits & more->bits)) {
        parcel->bits |= more->bits;
        return;
    }
    if (parcel->slab)
        remote_send_parcel(parcel);
    *parcel = *more;
}

/* The slab of a block that was freed; NULL when it was freed twice, and its slab went home meanwhile. */
static struct slab *remote_slab_of(const void *block) {
    return pagemap_kind(pagemap_tag(block)) < SIZECLASS_COUNT ? pagemap_record(block) : NULL;
}

void remote_send(struct outbox *outbox) {
    struct parcel parcels[PARCELS] = {0}, next;
    size_t count = outbox->count;
    ASSERT(P4, count <= OUTBOX_BLOCKS);
    for (size_t done = 0, gathered; done < count; done += gathered) {
        void **blocks = &outbox->blocks[done];
        next.slab = remote_slab_of(*blocks);
        gathered = next.slab
                       ? slab_gather_word(next.slab, blocks, (unsigned)(count - done), &next.word, &next.bits)
                       : 0;
        if (LIKELY(gathered > 0)) {
            remote_pack(parcels, &next);
        } else {
            misuse_report(next.slab ? MISUSE_INSIDE : MISUSE_DOUBLE_FREE,
                          *blocks); /* its slab went home meanwhile */
            gathered = 1;
        }
    }
    outbox->count = outbox->bytes = 0;
    for (const struct parcel *parcel = parcels; parcel < parcels + PARCELS; parcel++)
        if (parcel->slab)
            remote_send_parcel(parcel);
}

void remote_unclaim(const struct slab_claim *claim) {
    for (unsigned word = claim->first / 64; word <= (claim->first + claim->count - 1) / 64; word++)
        remote_free_word(claim->slab, word, slab_claimed_bits(claim, word));
}

void remote_deliver(struct slab *slab) {
    struct inbox *inbox = __atomic_load_n(&slab->owner, __ATOMIC_ACQUIRE); /* pairs with slab_change_owner */
    struct slab **place = &inbox->head[slab->class], *head = __atomic_load_n(place, __ATOMIC_RELAXED);
    do
        __atomic_store_n(&slab->inbox_next, head, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(place, &head, slab, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    /* The release above publishes inbox_next; pairs with remote_take. The slab is not ours from here on. */
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
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++)
        if (__atomic_load_n(&inbox->head[class], __ATOMIC_RELAXED))
            return true;
    return false;
}

unsigned remote_collect(struct slab *slab) {
    /* The summary first: a bit that comes after it finds its word 0 or taken with the others, and in the
     * first case marks the summary and delivers the slab anew. Pairs with remote_free_word. */
    uint64_t summary = __atomic_exchange_n(&slab->remote_summary, 0, __ATOMIC_ACQ_REL);
    ASSERT(P1, summary != 0);
    unsigned words = bits_count(summary);
    for (; summary; summary &= summary - 1) {
        unsigned word = bits_lowest(summary);
        uint64_t bits = __atomic_exchange_n(slab_remote_word(slab, slab->class, word), 0, __ATOMIC_ACQ_REL);
        uint64_t refused = slab_push_word(slab, word, bits);
        if (UNLIKELY(refused))
            remote_report_refused(slab, word, refused);
    }
    return words;
}

bool remote_is_on_its_way(const struct slab *slab) {
    return __atomic_load_n(&slab->remote_summary, __ATOMIC_ACQUIRE) != 0;
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
