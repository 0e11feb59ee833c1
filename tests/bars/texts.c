/*
 * texts: does memory stay near what one round needs when a program builds texts, splits and groups them, and drops all of that, round
 * after round?
 *
 * So work parsers, templates and logs. A text is made by appending, so that its buffer doubles from a length on that is another one each
 * time: in the end a block or two of every size was taken, each now and then. Its words are kept twice, in one long array and in 23 that
 * grow; three in four are of 16 to 60 characters and take a block, the others are short enough to need none. Whoever has memory for each size,
 * and never needs two of them at once, holds more after each round.
 *
 * 150 rounds of 5,000 words, and 75 of 10,000. Resident memory beyond the start, when it is largest at the end of a round, may be at most
 * 3.75 and 3.25 times what was live at the peak of the first. TEXTS_TIMES=10: so many times the rounds, in which it creeps on: 3.78 and 3.20
 * times were reached.
 */
#include "bars.h"

enum { WORDS_MOST = 10000, GROUPS = 23, REFERENCE = 32, SHORT = 15, LONGEST = 60 };

struct bytes {
    unsigned char *start;
    size_t length, room;
};

static unsigned random_state = 1;
static long live, most_live;

static void count_live(long bytes) {
    live += bytes;
    most_live = live > most_live ? live : most_live;
}

static void *kept(size_t bytes) {
    unsigned char *block = taken(bytes);
    memset(block, 1, bytes);
    count_live((long)bytes);
    return block;
}

static void dropped(void *block, size_t bytes) {
    free(block);
    count_live(-(long)bytes);
}

/* As std::string and std::vector do: the new buffer is there before the old one goes. */
static void append(struct bytes *to, size_t bytes) {
    if (to->length + bytes > to->room) {
        size_t room = to->room * 2 > to->length + bytes ? to->room * 2 : to->length + bytes;
        unsigned char *start = malloc(room);
        CHECK(start != NULL);
        memcpy(start, to->start, to->length);
        free(to->start);
        count_live((long)(room - to->room));
        to->start = start;
        to->room = room;
    }
    memset(to->start + to->length, 1, bytes);
    to->length += bytes;
}

static void drop(struct bytes *bytes) {
    dropped(bytes->start, bytes->room);
    *bytes = (struct bytes){NULL, 0, 0};
}

static void one_round(unsigned words) {
    static struct {
        unsigned char length;
        void *first, *second;
    } of[WORDS_MOST];
    struct bytes text = {NULL, 0, 0}, all = {NULL, 0, 0}, joined = {NULL, 0, 0},
                 groups[GROUPS] = {{NULL, 0, 0}};

    for (unsigned i = 0; i < words; i++) {
        of[i].length = (unsigned char)(1 + next_random(&random_state) % LONGEST);
        append(&text, of[i].length + 1u);
    }
    for (unsigned i = 0; i < words; i++) {
        of[i].first = of[i].length > SHORT ? kept(of[i].length + 1u) : NULL;
        append(&all, REFERENCE);
    }
    for (unsigned i = 0; i < words; i++) {
        of[i].second = of[i].length > SHORT ? kept(of[i].length + 1u) : NULL;
        append(&groups[of[i].length % GROUPS], REFERENCE);
    }
    for (unsigned i = 0; i < words; i++)
        append(&joined, of[i].length + 1u);
    drop(&joined);
    for (unsigned i = 0; i < GROUPS; i++)
        drop(&groups[i]);
    for (unsigned i = 0; i < words; i++)
        for (unsigned which = 0; which < 2; which++)
            if (of[i].first)
                dropped(which ? of[i].second : of[i].first, of[i].length + 1u);
    drop(&all);
    drop(&text);
}

static int measure(int which) {
    static const struct {
        unsigned words, rounds;
        long percent;
    } all[] = {{WORDS_MOST / 2, 150, 375}, {WORDS_MOST, 75, 325}};
    unsigned words = all[which].words;
    size_t rounds = all[which].rounds * amount("TEXTS_TIMES", 1);
    long start_kib = rss_kib(), most_kib = 0, first_live = 0;

    setvbuf(stdout, NULL, _IOLBF, 4096);
    for (size_t round = 0; round < rounds; round++) {
        one_round(words);
        first_live = first_live ? first_live : most_live;
        long kib = rss_kib() - start_kib;
        most_kib = kib > most_kib ? kib : most_kib;
    }
    long percent = most_kib * 1024 * 100 / first_live;
    printf("%5u words, %zu rounds: %ld KiB resident, %ld live in the first, %ld %%\n", words, rounds,
           most_kib, first_live / 1024, percent);
    BAR(percent <= all[which].percent, "%u words: %ld %% of the live bytes are resident, %ld may be", words,
        percent, all[which].percent);
    return bars_result();
}

int main(void) {
    return bars_each_apart(measure, 2);
}
