// A canvas, as an editor of pictures has it: layers of the whole picture; each stroke copies the tiles that it changes into the history, the oldest
// strokes of which go; some strokes need a layer for themselves. Now and then another picture is opened, of another size.
#include "application.h"

#include <stdlib.h>
#include <string.h>

enum { PICTURES = 5, LAYERS = 4, HISTORY = 100, TILES_MOST = 12, STROKES = 150, OF_A_LAYER_EACH = 15 };

struct stroke {
    void *tile[TILES_MOST];
};

static void stroke_forget(struct stroke *stroke) {
    for (unsigned i = 0; i < TILES_MOST; i++)
        free(stroke->tile[i]);
    memset(stroke, 0, sizeof *stroke);
}

static void draw(struct work *work, struct stroke *history, uint64_t layer, uint64_t tile) {
    for (unsigned i = 0; i < STROKES; i++) {
        struct stroke *stroke = &history[i % HISTORY];
        stroke_forget(stroke);
        for (uint64_t tiles = between(work, 1, TILES_MOST); tiles > 0; tiles--)
            stroke->tile[tiles - 1] = work_new(tile);
        if (i % OF_A_LAYER_EACH == 0)
            free(work_new(layer));
    }
}

void application_canvas(struct work *work) {
    struct stroke history[HISTORY] = {{{0}}};
    for (unsigned picture = 0; picture < PICTURES; picture++) {
        uint64_t layer = between_doublings(work, work->bytes / LAYERS / 10, work->bytes / LAYERS / 2);
        uint64_t tile = work->bytes / 2 / (HISTORY * TILES_MOST / 2) * between(work, 5, 10) / 10;
        void *layers[LAYERS];
        for (unsigned i = 0; i < LAYERS; i++)
            layers[i] = work_new(layer);
        draw(work, history, layer, tile);
        for (unsigned i = 0; i < LAYERS; i++)
            free(layers[i]);
    }
    for (unsigned i = 0; i < HISTORY; i++)
        stroke_forget(&history[i]);
}
