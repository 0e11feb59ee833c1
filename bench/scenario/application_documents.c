// Documents, as a browser or an editor of XML and JSON has them: trees of nodes, each with a text, its attributes and a list of children that grows;
// some texts are edited; when there are as many documents as there may be, the oldest goes as a whole.
#include "application.h"

#include <stdlib.h>

enum { OPEN = 6, ROUNDS = 30, ATTRIBUTES = 4, EDITED_EACH = 5, NODE = 96 };

struct node {
    struct node *parent;
    void *text, *attribute[ATTRIBUTES];
    struct grown children;
};

struct document {
    struct node **node;
    size_t count;
};

static struct node *node_new(struct work *work, uint64_t longest) {
    struct node *node = work_new(sizeof *node);
    *node = (struct node){.text = work_new(between_doublings(work, 8, longest))};
    for (uint64_t i = below(&work->state, ATTRIBUTES + 1); i > 0; i--)
        node->attribute[i - 1] = work_new(between_doublings(work, 8, 80));
    return node;
}

static void document_load(struct work *work, struct document *document, uint64_t bytes, uint64_t longest) {
    document->count = bytes / (NODE + longest / 4 + 2 * 32) + 1;
    document->node = (struct node **)work_table(document->count);
    for (size_t i = 0; i < document->count; i++) {
        struct node *node = document->node[i] = node_new(work, longest);
        if (i > 0) {
            node->parent = document->node[i - 1 - below(&work->state, i < 40 ? i : 40)];
            grown_append(&node->parent->children, sizeof node);
        }
    }
}

static void document_edit(struct work *work, struct document *document, uint64_t longest) {
    for (size_t i = 0; i < document->count; i += 1 + below(&work->state, 2 * EDITED_EACH)) {
        free(document->node[i]->text);
        document->node[i]->text = work_new(between_doublings(work, 8, longest));
    }
}

static void document_close(struct document *document) {
    for (size_t i = 0; i < document->count; i++) {
        struct node *node = document->node[i];
        free(node->text);
        for (unsigned j = 0; j < ATTRIBUTES; j++)
            free(node->attribute[j]);
        grown_end(&node->children);
        free(node);
    }
    free(document->node);
    *document = (struct document){0};
}

void application_documents(struct work *work) {
    struct document open[OPEN] = {{0}};
    uint64_t longest = between_doublings(work, 20, 4000);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct document *oldest = &open[i % OPEN];
        document_close(oldest);
        document_load(work, oldest, between_doublings(work, work->bytes / OPEN / 8 + 1, work->bytes / OPEN),
                      longest);
        document_edit(work, &open[below(&work->state, OPEN)], longest);
    }
    for (unsigned i = 0; i < OPEN; i++)
        document_close(&open[i]);
}
