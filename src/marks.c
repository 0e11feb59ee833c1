#include "marks.h"

#include "metadata.h"

#include <string.h>

bool marks_begin(struct marks *marks, struct slab *slab) {
    uint64_t size = sizeclass_table[slab->class].size;
    ASSERT(P3, marks->span == 0 && slab->units == 1 && size <= MARKS_LARGEST);
    if (UNLIKELY(!marks->bytes) && !(marks->bytes = metadata_new(MARKS_BYTES)))
        return false;
    marks->start = (uintptr_t)slab->start;
    marks->span = slab->carved * size;
    marks->scale = (slab->inverse + UINT32_MAX) >> 32;
    marks->left = (uint32_t)slab->carved - slab->free;
    marks->words = (slab->carved + 63u) / 64;
    marks->slab = slab;
    return true;
}

/* Which of a word's blocks were marked more than once. */
static COLD uint64_t marks_twice(const unsigned char *bytes) {
    uint64_t twice = 0;
    for (unsigned i = 0; i < 64; i++)
        twice |= (uint64_t)(bytes[i] > 1) << i;
    return twice;
}

unsigned marks_collect(struct marks *marks) {
    struct slab *slab = marks->slab;
    if (!slab)
        return 0;
    unsigned back = 0;
    for (unsigned word = 0; word < marks->words; word++) {
        unsigned char *bytes = marks->bytes + word * 64;
        bool twice;
        uint64_t bits = bits_of_bytes(bytes, &twice);
        if (bits == 0)
            continue;
        if (UNLIKELY(twice))
            slab_report_refused(slab, word, marks_twice(bytes));
        memset(bytes, 0, 64);
        uint64_t refused = slab_set_word(slab, word, bits);
        if (UNLIKELY(refused))
            slab_report_refused(slab, word, refused);
        back += bits == ~0ULL && !refused ? 64 : bits_count(bits & ~refused); /* a long run is whole words */
    }
    slab_count_free(slab, back);
    marks->span = 0;
    marks->slab = NULL;
    return back;
}
