/*
 * address_limit: what happens under `ulimit -v 262144` (256 MiB of address space)?
 *
 * The worker must get at least 128 MiB in blocks of 40,000 bytes, then NULL with ENOMEM, never a crash; small
 * blocks and realloc fail as politely, and contents stay. After all is freed 100 MiB in one piece must be there
 * again. Then real programs (perl, python3) run under the limit; one that fails without the library is left out.
 *
 * A block that cannot grow where it is, and of which two have no room (`ulimit -v`, `ulimit -d`), moves without a second mapping beside it.
 */
#include "hostile.h"
#include <sys/mman.h>
#include <sys/resource.h>

enum { MOST = 8000, SIZE = 40000 };

static void limit(void) {
    struct rlimit bytes = {256u << 20, 256u << 20};

    CHECK(setrlimit(RLIMIT_AS, &bytes) == 0);
}

static void limit_data(void) {
    struct rlimit bytes = {256u << 20, 256u << 20};

    CHECK(setrlimit(RLIMIT_DATA, &bytes) == 0);
}

/* Something of the program's own lies behind the block each time. */
static void grow(void) {
    enum { MIB = 1 << 20, STEP = 16 * MIB, GROWN = 192 * MIB, EVERY = 64 << 10 };
    size_t size = 2 * STEP;
    unsigned char *block = malloc(size);
    CHECK(block != NULL);
    for (size_t at = 0; at < size; at += EVERY)
        block[at] = (unsigned char)(at / EVERY % 251);
    for (; size < GROWN; size += STEP) {
        unsigned char *end = block + size;
        for (size_t i = 0; i < STEP / MIB; i++)
            mmap(end + i * MIB, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        block = realloc(block, size + STEP);
        CHECK(block != NULL && (uintptr_t)block % 16 == 0);
        for (size_t at = size; at < size + STEP; at += EVERY)
            block[at] = (unsigned char)(at / EVERY % 251);
    }
    for (size_t at = 0; at < size; at += EVERY)
        CHECK(block[at] == at / EVERY % 251);
    CHECK(malloc_usable_size(block) >= size);
    unsigned char *other = malloc(4 * MIB);
    CHECK(other != NULL);
    free(block);
    block = malloc(GROWN);
    CHECK(block != NULL);
    free(block);
    free(other);
    churn(3, 2000);
}

static void limit_without_library(void) {
    limit();
    unsetenv("LD_PRELOAD");
}

static void worker(void) {
    static unsigned char *blocks[MOST];
    size_t count = 0, small = 0;

    churn(1, 2000);
    while (count < MOST && (blocks[count] = malloc(SIZE)) != NULL) {
        fill(blocks[count], SIZE, (unsigned char)count);
        count++;
    }
    CHECK(errno == ENOMEM && count < MOST && count * SIZE >= 128u << 20);
    CHECK(realloc(blocks[0], 64u << 20) == NULL && errno == ENOMEM);
    CHECK(calloc(1, 64u << 20) == NULL && errno == ENOMEM);
    void **chain = NULL;
    for (void **block; small < 10000000 && (block = malloc(100)) != NULL; small++) {
        *block = chain;
        chain = block;
    }
    while (chain != NULL) {
        void **next = *chain;
        free(chain);
        chain = next;
    }
    for (size_t i = 0; i < count; i++) {
        verify(blocks[i], SIZE, (unsigned char)i);
        free(blocks[i]);
    }
    char *piece = malloc(100u << 20);
    CHECK(piece != NULL);
    fill(piece, 100u << 20, 'p');
    free(piece);
    churn(2, 2000);
}

static void run_program(char *const argv[], const char *expected) {
    static struct ran ran;
    static const char *const env[] = {"LC_ALL=C", NULL};

    if (run(&ran, argv, env, limit_without_library) != 0) {
        dprintf(2, "left out: %s does not run under the limit even without the library\n", argv[0]);
        return;
    }
    if (run(&ran, argv, env, limit) != 0 || strcmp(ran.text, expected) != 0)
        show(&ran);
    CHECK(ran.status == 0 && strcmp(ran.text, expected) == 0);
}

int main(int argc, char **argv) {
    static char perl[] = "my %h; $h{$_} = 'x' x ($_ % 100) for 1..100000; print scalar(keys %h), \"\\n\"";
    static char python[] = "import json; print(len(json.dumps(list(range(10**6)))))";
    static char perl_name[] = "perl", python_name[] = "python3", perl_option[] = "-e", python_option[] = "-c";

    if (is_worker(argc, argv)) {
        if (getenv("GROWS"))
            grow();
        else
            worker();
        return 0;
    }
    run_worker((const char *const[]){"GROWS=1", NULL}, limit);
    run_worker((const char *const[]){"GROWS=1", NULL}, limit_data);
    run_worker(NULL, limit);
    run_program((char *[]){perl_name, perl_option, perl, NULL}, "100000\n");
    run_program((char *[]){python_name, python_option, python, NULL}, "7888890\n");
    return 0;
}
