/* The library of the small tree: it overrides nothing, and says that it is loaded when asked to be verbose. Before that
 * it says what HAKMEM_STUB_SAYS has. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stub.h"

__attribute__((constructor)) static void stub_loaded(void) {
    static const char words[] = "hakmem: " STUB_WORDS "\n";
    const char *said = getenv("HAKMEM_STUB_SAYS");
    if (said && (write(2, said, strlen(said)) < 0 || write(2, "\n", 1) < 0))
        _exit(3);
    if (getenv("HAKMEM_VERBOSE") && write(2, words, sizeof words - 1) < 0)
        _exit(3);
}
