// Texts that grow by small steps, as logs, terminals and editors have them: each gets no more room than it needs; when one is as long as it was meant
// to be, it is freed and another one begins.
#include "application.h"

#include <stdlib.h>
#include <string.h>

enum { TEXTS_MOST = 5000, SHORT_STEP = 8, STEPS_OF_ALL = 40, STEPS_MOST = 600000 };

struct text {
    unsigned char *bytes;
    size_t length, longest;
};

static void step(struct work *work, struct text *text, uint64_t most, uint64_t longest_step) {
    if (text->length >= text->longest) {
        free(text->bytes);
        *text = (struct text){.longest = between_doublings(work, SHORT_STEP, most)};
    }
    size_t more = between(work, 1, longest_step);
    text->bytes = realloc(text->bytes, text->length + more);
    if (!text->bytes)
        write_block(NULL, 0, WHOLE, NULL);
    memset(text->bytes + text->length, 1, more);
    text->length += more;
}

void application_texts(struct work *work) {
    uint64_t most = between_doublings(work, 1000, 300000), count = work->bytes / (most / 10) + 1;
    if (count > TEXTS_MOST)
        count = TEXTS_MOST;
    uint64_t longest_step = between_doublings(work, SHORT_STEP, most / 10), steps = count * STEPS_OF_ALL;
    struct text *texts = work_array(count, sizeof *texts);
    for (uint64_t i = 0; i < steps && i < STEPS_MOST; i++)
        step(work, &texts[below(&work->state, count)], most, longest_step);
    for (uint64_t i = 0; i < count; i++)
        free(texts[i].bytes);
    free(texts);
}
