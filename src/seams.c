#include "seams.h"

#include "base.h"
#include "boxes.h"
#include "sizeclass.h"

unsigned seams_count(const struct seams *seams) {
    unsigned count = 0;
    while (count < SEAMS_MOST && seams->at[count] != 0)
        count++;
    return count;
}

size_t seams_begin(const struct seams *seams, unsigned number, size_t end) {
    if (number == 0)
        return 0;
    return number > seams_count(seams) ? end : (size_t)seams->at[number - 1] << UNIT_SHIFT;
}

size_t seams_last(const struct seams *seams) {
    return seams_begin(seams, seams_count(seams), 0);
}

bool seams_add(struct seams *seams, size_t offset) {
    uint32_t unit = (uint32_t)(offset >> UNIT_SHIFT);
    unsigned count = seams_count(seams), place = count;
    while (place > 0 && seams->at[place - 1] >= unit)
        place--;
    if (unit == 0 || (place < count && seams->at[place] == unit))
        return true;
    if (count == SEAMS_MOST)
        return false;
    for (unsigned i = count; i > place; i--)
        seams->at[i] = seams->at[i - 1];
    seams->at[place] = unit;
    ASSERT(P1, place == 0 || seams->at[place - 1] < unit);
    return true;
}

struct seams seams_between(const struct seams *seams, size_t from, size_t to) {
    struct seams between = {{0}};
    uint32_t first = (uint32_t)(from >> UNIT_SHIFT), end = (uint32_t)(to >> UNIT_SHIFT);
    for (unsigned i = 0, count = 0; i < SEAMS_MOST; i++)
        if (seams->at[i] > first && seams->at[i] < end)
            between.at[count++] = seams->at[i] - first;
    return between;
}

bool seams_lay_over(const struct seams *seams, size_t end, const struct seams *over, size_t bytes,
                    struct seams *result) {
    struct seams beyond = seams_between(seams, bytes, end);
    *result = *over;
    bool room = bytes == end || seams_add(result, bytes);
    for (unsigned i = 0; room && i < SEAMS_MOST && beyond.at[i] != 0; i++)
        room = seams_add(result, bytes + ((size_t)beyond.at[i] << UNIT_SHIFT));
    return room;
}
