/* options: see options.h. The rows hold their texts as arrays, not pointers, so that the table needs no
 * relocation and costs a program that starts no private page. */
#include "base.h"
#include "boxes.h"
#include "os.h"
#include "log.h"
#include "options.h"

#include <string.h>

#define OPTIONS_PREFIX "HAKMEM_"
#define OPTIONS_REFUSED_STATUS 2

enum options_kind { OPTIONS_bool, OPTIONS_bytes, OPTIONS_count, OPTIONS_choice, OPTIONS_limit };

enum options_row_id {
#define OPTION(field, name, kind, initial, min, max, unit, sentence, alias) OPTIONS_ROW_##field,
#define CHOICE(field, value, name, older)
#define PROFILE_SETS(profile, field, value)
#include "options.def"
#undef OPTION
    OPTIONS_ROWS
};

RARE_CONSTANT static const struct options_row {
    char name[32];
    char alias[32];
    char unit[12];
    enum options_kind kind;
    uint32_t offset;
    size_t initial;
    size_t min;
    size_t max;
} options_rows[] = {
#define OPTION(field, name, kind, initial, min, max, unit, sentence, alias) \
    {name, alias, unit, OPTIONS_##kind, offsetof(struct options, field), initial, min, max},
#include "options.def"
#undef OPTION
#undef CHOICE
};

RARE_CONSTANT static const struct options_word {
    enum options_row_id row;
    size_t value;
    char name[12];
    char older[32];
} options_words[] = {
#define OPTION(field, name, kind, initial, min, max, unit, sentence, alias)
#define CHOICE(field, value, name, older) {OPTIONS_ROW_##field, value, name, older},
#include "options.def"
#undef OPTION
#undef CHOICE
#undef PROFILE_SETS
};

struct options options = {
#define OPTION(field, name, kind, initial, min, max, unit, sentence, alias) .field = initial,
#define CHOICE(field, value, name, older)
#define PROFILE_SETS(profile, field, value)
#include "options.def"
#undef OPTION
#undef PROFILE_SETS
};

const char options_version[] = HAKMEM_VERSION;
const char options_commit[] = HAKMEM_COMMIT;
const char options_variant[] = HAKMEM_VARIANT_NAME;

static struct {
    uint32_t asked; /* bit per row that has been looked for */
    uint32_t given; /* bit per row that the environment has set */
    bool refused;
} options_state;

_Static_assert(OPTIONS_ROWS <= 32, "a row has one bit of options_state");

/* What each profile changes. */
static void options_apply(unsigned chosen) {
#define OPTION(field, name, kind, initial, min, max, unit, sentence, alias)
#define PROFILE_SETS(profile, field, value) \
    if (chosen == profile)                  \
        options.field = value;
#include "options.def"
#undef OPTION
#undef CHOICE
#undef PROFILE_SETS
}

static size_t options_get(const struct options_row *row) {
    const void *field = (const char *)&options + row->offset;
    switch (row->kind) {
    case OPTIONS_bool:
        return *(const options_bool *)field;
    case OPTIONS_choice:
        return *(const options_choice *)field;
    default:
        return *(const size_t *)field;
    }
}

static void options_set(const struct options_row *row, size_t value) {
    void *field = (char *)&options + row->offset;
    switch (row->kind) {
    case OPTIONS_bool:
        *(options_bool *)field = value != 0;
        break;
    case OPTIONS_choice:
        *(options_choice *)field = (options_choice)value;
        break;
    default:
        *(size_t *)field = value;
    }
}

static char options_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool options_same(const char *a, const char *b) {
    for (; *a != '\0' && options_lower(*a) == options_lower(*b); a++, b++)
        continue;
    return *a == '\0' && *b == '\0';
}

static bool options_parse_bool(const char *text, size_t *value) {
    RARE_CONSTANT static const char words[][8] = {"0", "1", "off", "on", "no", "yes", "false", "true"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
        if (options_same(text, words[i])) {
            *value = i % 2;
            return true;
        }
    return false;
}

static bool options_parse_choice(enum options_row_id row, const char *text, size_t *value) {
    for (size_t i = 0; i < ARRAY_LENGTH(options_words); i++) {
        const struct options_word *word = &options_words[i];
        if (word->row == row && (options_same(text, word->name) || options_same(text, word->older))) {
            *value = word->value;
            return true;
        }
    }
    return false;
}

/* Digits, then for bytes at most one of k, m, g. A number that does not fit becomes SIZE_MAX. */
static bool options_parse_number(const char *text, bool suffixes, size_t *value) {
    size_t number = 0;
    size_t factor = 1;
    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (size_t)(*text - '0'), &number))
            number = SIZE_MAX;
    if (suffixes && *text != '\0') {
        char suffix = options_lower(*text++);
        factor = suffix == 'k' ? KIB : suffix == 'm' ? MIB : suffix == 'g' ? GIB : 0;
    }
    if (factor == 0 || *text != '\0')
        return false;
    *value = __builtin_mul_overflow(number, factor, &number) ? SIZE_MAX : number;
    return true;
}

static bool options_parse(enum options_row_id row, const char *text, size_t *value) {
    switch (options_rows[row].kind) {
    case OPTIONS_bool:
        return options_parse_bool(text, value);
    case OPTIONS_choice:
        return options_parse_choice(row, text, value);
    case OPTIONS_limit:
        return options_parse_choice(row, text, value) || options_parse_number(text, true, value);
    default:
        return options_parse_number(text, options_rows[row].kind == OPTIONS_bytes, value);
    }
}

/* The word that begins a report; in strict mode the process ends after the last one. */
static const char *options_complain(void) {
    options_state.refused = options.strict;
    return options.strict ? "refused" : "ignored";
}

/* "speed, balanced, lean": all of them fit. */
static void options_list_words(enum options_row_id row, char *text, size_t bytes) {
    size_t used = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(options_words); i++)
        if (options_words[i].row == row && used < bytes)
            used += log_format(text + used, bytes - used, used > 0 ? ", %s" : "%s", options_words[i].name);
}

static void options_report(enum options_row_id id, const char *name, const char *text, bool parsed) {
    RARE_CONSTANT static const char meant[][36] = {"0 or 1", "bytes, as 65536, 512k, 64m or 1g",
                                                   "a number of ", "one of ",
                                                   "bytes, as 64m or 1g, or cgroup"};
    const struct options_row *row = &options_rows[id];
    char words[64] = "";
    bool counted = row->kind == OPTIONS_count;
    if (row->kind == OPTIONS_choice)
        options_list_words(id, words, sizeof words);
    if (parsed)
        log_line("%s (not in %zu..%zu%s%s): %s=%s", options_complain(), row->min, row->max,
                 row->unit[0] != '\0' ? " " : "", row->unit, name, text);
    else
        log_line("%s (not %s%s%s): %s=%s", options_complain(), meant[row->kind], words,
                 counted ? row->unit : "", name, text);
}

/* A word is always in range. A number that is too large for a size was made OPTIONS_CGROUP: it begins with a digit. */
static bool options_in_range(const struct options_row *row, const char *text, size_t value) {
    bool word = row->kind == OPTIONS_limit && (*text < '0' || *text > '9');
    return word || (value >= row->min && value <= row->max);
}

static bool options_given(const char *name, const char **text) {
    *text = name[0] != '\0' ? os_getenv(name) : NULL;
    return *text != NULL && **text != '\0';
}

/* What another variant would do, and this one cannot. */
static bool options_is_elsewhere(enum options_row_id id, size_t value) {
    return !has(calls) && (id == OPTIONS_ROW_latency || id == OPTIONS_ROW_trace) && value != 0;
}

/* Looks for one option, once; true when the environment has set it. */
static bool options_ask(enum options_row_id id) {
    const struct options_row *row = &options_rows[id];
    uint32_t bit = 1u << id;
    if (options_state.asked & bit)
        return (options_state.given & bit) != 0;
    options_state.asked |= bit;
    const char *name = row->name, *text;
    if (!options_given(name, &text) && !options_given(name = row->alias, &text))
        return false;
    size_t value = 0;
    bool parsed = options_parse(id, text, &value);
    if (!parsed || !options_in_range(row, text, value)) {
        options_report(id, name, text, parsed);
        return false;
    }
    if (options_is_elsewhere(id, value)) {
        log_line("%s (for the variant observe, this is %s; hakmem run --variant observe): %s=%s",
                 options_complain(), options_variant, name, text);
        return false;
    }
    options_set(row, value);
    options_state.given |= bit;
    return true;
}

static bool options_names(const char *entry, const char *name) {
    size_t length = strlen(name);
    return length != 0 && strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static bool options_known(const char *entry) {
    for (size_t i = 0; i < OPTIONS_ROWS; i++)
        if (options_names(entry, options_rows[i].name) || options_names(entry, options_rows[i].alias))
            return true;
    return false;
}

static bool options_may_name(const char *entry) {
    return strncmp(entry, OPTIONS_PREFIX, sizeof OPTIONS_PREFIX - 1) == 0;
}

/* Most processes are given no option, and then one look at the environment tells, not one for each of them. */
static bool options_are_given(void) {
    const char *entry;
    for (size_t i = 0; (entry = os_environment(i)) != NULL; i++)
        if (*entry == *OPTIONS_PREFIX && options_may_name(entry))
            return true;
    return false;
}

static void options_report_unknown(void) {
    const char *entry;
    for (size_t i = 0; (entry = os_environment(i)) != NULL; i++)
        if (options_may_name(entry) && !options_known(entry))
            log_line("%s (no such option; HAKMEM_VERBOSE=1 lists them): %s", options_complain(), entry);
}

static void options_read_given(void) {
    options_state.asked = 0; /* a page that is first read, and then written, is faulted twice */
    options_ask(OPTIONS_ROW_strict);
    options_ask(OPTIONS_ROW_profile);
    options_apply(options.profile);
    if (options_ask(OPTIONS_ROW_mem_lean) && options.mem_lean)
        options_apply(PROFILE_LEAN);
    for (unsigned id = 0; id < OPTIONS_ROWS; id++)
        options_ask((enum options_row_id)id);
    options_report_unknown();
    if (options.verbose)
        options_print();
    if (options_state.refused)
        os_exit(OPTIONS_REFUSED_STATUS);
}

void options_read(void) {
    if (!os_secure() && options_are_given())
        options_read_given();
}

static const char *options_word_of(enum options_row_id row, size_t value) {
    for (size_t i = 0; i < ARRAY_LENGTH(options_words); i++)
        if (options_words[i].row == row && options_words[i].value == value)
            return options_words[i].name;
    return "";
}

const char *options_profile_name(void) {
    return options_word_of(OPTIONS_ROW_profile, options.profile);
}

/* "64m", "speed", "1": as it may be given back in the environment. */
static void options_format_value(enum options_row_id id, char *text, size_t bytes) {
    static const char suffixes[][2] = {"", "k", "m", "g"};
    const struct options_row *row = &options_rows[id];
    size_t value = options_get(row);
    size_t suffix = 0;
    bool is_bytes = row->kind == OPTIONS_bytes || row->kind == OPTIONS_limit;
    if (row->kind == OPTIONS_choice || options_word_of(id, value)[0] != '\0') {
        log_format(text, bytes, "%s", options_word_of(id, value));
        return;
    }
    while (is_bytes && value != 0 && value % KIB == 0 && suffix < 3) {
        value /= KIB;
        suffix++;
    }
    log_format(text, bytes, "%zu%s", value, suffixes[suffix]);
}

void options_print(void) {
    const char *chosen = options.mem_lean && options.profile != PROFILE_LEAN ? "HAKMEM_MEM_LEAN" : "profile";
    log_line("version %s, commit %s, variant %s", options_version, options_commit, options_variant);
    for (unsigned id = 0; id < OPTIONS_ROWS; id++) {
        const struct options_row *row = &options_rows[id];
        const char *source = options_state.given & (1u << id)   ? "environment"
                             : options_get(row) == row->initial ? "default"
                                                                : chosen;
        char value[32];
        options_format_value((enum options_row_id)id, value, sizeof value);
        log_line("%s=%s (%s)", row->name, value, source);
    }
}
