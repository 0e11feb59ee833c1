/* The library of the small tree: it overrides nothing, and says that it is loaded when asked to be verbose. */
#include <stdlib.h>
#include <unistd.h>

#include "stub.h"

__attribute__((constructor)) static void stub_loaded(void) {
    static const char words[] = "hakmem: " STUB_WORDS "\n";
    if (getenv("HAKMEM_VERBOSE") && write(2, words, sizeof words - 1) < 0)
        _exit(3);
}
