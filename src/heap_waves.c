/* Whether a class comes in waves: many blocks that are all freed, and then as many again. docs/experiments/waves-of-a-class.md */
#include "heap_parts.h"

#include "metadata.h"

enum {
    EBB = 4,             /* a wave has gone when such a part of the most is out, ... */
    WAVES = 2,           /* ... and so many have come back before the next one may be put by as a whole */
    LARGEST_WAVED = 128, /* bytes of a block: of longer ones a wave holds much for few calls */
    USED_MOST = 5 << 20, /* bytes in use: of more, the order of frees is that of blocks far from each other */
    MANY_PACKS = 256,    /* when there are more, and the heap grows, all are given up, ... */
    UNPACK_MANY = 192,   /* ... so many for each unit of fresh memory, ... */
    UNPACK_UNITS = 4     /* ... and for as many of these at once */
};

/* What a heap notes of that. */
struct heap_waves {
    uint32_t
        growths; /* one, and one for each time that fresh memory was taken while there were packs; never 0 */
    bool ending; /* all packs are given up, by and by */
    struct heap_wave {
        uint32_t most;    /* blocks that were out, in use or put by, since there is this; never less */
        uint32_t returns; /* growths when it was seen that waves come back; 0: never */
        uint8_t come;     /* times that nearly the most were out again, as far as it matters */
        bool gone;        /* few were, since the last time */
    } of[SIZECLASS_COUNT];
};

/* All classes are near their most, so that what one of them puts by is no other's. */
static bool heap_is_at_its_most(const struct heap *heap) {
    size_t out = 0, most = 0;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
        size_t size = sizeclass_table[class].size;
        out += heap->class[class].out * size;
        most += heap->waves->of[class].most * size;
    }
    return out >= most / 8 * 5;
}

/* Three quarters of the most are out again. */
static NOINLINE void heap_count_wave(struct heap *heap, unsigned class) {
    struct heap_wave *wave = &heap->waves->of[class];
    heap->waves->ending = wave->gone = false;
    wave->come = (uint8_t)(wave->come < WAVES ? wave->come + 1 : WAVES);
    bool returns = wave->come == WAVES && sizeclass_table[class].size <= LARGEST_WAVED &&
                   superslab_used_bytes() <= USED_MOST && heap_is_at_its_most(heap);
    wave->returns = returns ? heap->waves->growths : 0;
}

void heap_note_waves(struct heap *heap) {
    heap->waves = metadata_new(sizeof(struct heap_waves));
    if (!heap->waves)
        return;
    heap->waves->growths = 1;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++)
        heap->waves->of[class].most = heap->class[class].out;
}

NOINLINE void heap_note_out(struct heap *heap, unsigned class) {
    struct heap_wave *wave = &heap->waves->of[class];
    uint32_t out = heap->class[class].out;
    if (out > wave->most)
        wave->most = out;
    if (out < wave->most / EBB)
        wave->gone = true;
    else if (UNLIKELY(wave->gone && out >= wave->most / EBB * (EBB - 1)))
        heap_count_wave(heap, class);
}

void heap_forget_waves(struct heap *heap) {
    *heap->waves = (struct heap_waves){.growths = 1};
}

void heap_end_waves(struct heap *heap, unsigned units) {
    struct heap_waves *waves = heap->waves;
    waves->growths += waves->growths == UINT32_MAX ? 2 : 1;
    if (waves->ending || heap->packs.count > MANY_PACKS) {
        heap_unpack_wholly(heap, UNPACK_MANY * (units < UNPACK_UNITS ? units : UNPACK_UNITS));
        waves->ending = heap->packs.count > 0;
    } else {
        heap_unpack(heap, HEAP_UNPACK);
    }
}

bool heap_has_waves(const struct heap *heap, unsigned class) {
    return heap->waves->of[class].returns == heap->waves->growths;
}
