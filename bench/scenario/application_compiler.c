// A compiler that goes through units one after another: a tree of small nodes, of which names stay for good; code for it in vectors that grow; then the
// tree goes; a text of some KiB for each function, which stays until the unit is written; then code and texts go, and a short text stays.
#include "application.h"

#include <stdlib.h>

enum {
    UNITS = 12,
    FUNCTIONS = 60,
    NAMES_EACH = 50,
    SHORTEST_NODE = 24,
    LONGEST_NODE = 200,
    BYTES_OF_A_NODE = 100,
    TEXT_OF_A_UNIT = 2000
};

struct unit {
    void **node, **text;
    struct grown code[FUNCTIONS];
    size_t nodes;
};

static void parse(struct work *work, struct unit *unit, void **names) {
    for (size_t i = 0; i < unit->nodes; i++) {
        unit->node[i] = work_new(between_doublings(work, SHORTEST_NODE, LONGEST_NODE));
        if (i % NAMES_EACH == 0)
            names[i / NAMES_EACH] = work_new(between_doublings(work, 8, 64));
    }
}

static void generate(struct work *work, struct unit *unit) {
    size_t each = unit->nodes / FUNCTIONS, node = 0;
    for (unsigned function = 0; function < FUNCTIONS; function++)
        for (size_t i = 0; i < each; i++, node++) {
            grown_append(&unit->code[function], between(work, 8, SHORTEST_NODE));
            free(unit->node[node]);
        }
    for (; node < unit->nodes; node++)
        free(unit->node[node]);
}

static void print(struct work *work, struct unit *unit) {
    for (unsigned function = 0; function < FUNCTIONS; function++)
        unit->text[function] = work_new(between_doublings(work, 500, unit->code[function].length + 1000));
    for (unsigned function = 0; function < FUNCTIONS; function++) {
        grown_end(&unit->code[function]);
        free(unit->text[function]);
    }
}

void application_compiler(struct work *work) {
    size_t most = work->bytes / BYTES_OF_A_NODE + FUNCTIONS, named = most / NAMES_EACH + 1;
    struct unit unit = {.node = work_table(most), .text = work_table(FUNCTIONS)};
    void **names[UNITS], **written = work_table(UNITS);
    for (unsigned i = 0; i < UNITS; i++) {
        names[i] = work_table(named);
        unit.nodes = between_doublings(work, most / 8, most);
        parse(work, &unit, names[i]);
        generate(work, &unit);
        print(work, &unit);
        written[i] = work_new(between_doublings(work, TEXT_OF_A_UNIT, 50 * TEXT_OF_A_UNIT));
    }
    for (unsigned i = 0; i < UNITS; i++)
        work_table_end(names[i], named);
    work_table_end(written, UNITS);
    free(unit.node);
    free(unit.text);
}
