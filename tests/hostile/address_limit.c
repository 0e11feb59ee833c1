/*
 * address_limit: what happens under `ulimit -v 262144` (256 MiB of address space)?
 *
 * The worker must get at least 128 MiB in blocks of 40,000 bytes, then NULL with ENOMEM, never a crash; small
 * blocks and realloc fail as politely, and contents stay. After all is freed 100 MiB in one piece must be there
 * again. Then real programs (perl, python3) run under the limit; one that fails without the library is left out.
 */
#include "hostile.h"
#include <sys/resource.h>

enum { MOST = 8000, SIZE = 40000 };

static void limit(void) {
    struct rlimit bytes = {256u << 20, 256u << 20};

    CHECK(setrlimit(RLIMIT_AS, &bytes) == 0);
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
        worker();
        return 0;
    }
    run_worker(NULL, limit);
    run_program((char *[]){perl_name, perl_option, perl, NULL}, "100000\n");
    run_program((char *[]){python_name, python_option, python, NULL}, "7888890\n");
    return 0;
}
