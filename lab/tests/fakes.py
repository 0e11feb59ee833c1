"""Small allocators and programs, compiled for the tests: what they do is known, and no registry is needed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

# An allocator in 30 lines: blocks are cut from one array and never used again.
BUMP = r"""
#include <errno.h>
#include <stddef.h>
#include <string.h>
static _Alignas(64) char arena[256 << 20];
static size_t used;
static void *cut(size_t alignment, size_t size) {
    size_t need = size + alignment + 16;
    size_t at = __atomic_fetch_add(&used, need, __ATOMIC_RELAXED);
    if (need < size || at + need > sizeof arena) { errno = ENOMEM; return NULL; }
    size_t start = ((size_t)(arena + at) + 16 + alignment - 1) / alignment * alignment;
    ((size_t *)start)[-1] = size;
    return (void *)start;
}
void *malloc(size_t size) { return cut(16, size); }
#ifndef NO_FREE
void free(void *block) { (void)block; }
#endif
void *calloc(size_t count, size_t size) { return cut(16, count * size); }
void *realloc(void *block, size_t size) {
    void *new = cut(16, size);
    if (new && block) memcpy(new, block, size < ((size_t *)block)[-1] ? size : ((size_t *)block)[-1]);
    return new;
}
void *memalign(size_t alignment, size_t size) { return cut(alignment < 16 ? 16 : alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **block, size_t alignment, size_t size) { return (*block = memalign(alignment, size)) ? 0 : ENOMEM; }
size_t malloc_usable_size(void *block) { return block ? ((size_t *)block)[-1] : 0; }
"""

# Defines the names, but hands every request on to glibc.
FORWARDING = r"""
#include <stddef.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
void __libc_free(void *);
void *malloc(size_t size) { return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return __libc_calloc(count, size); }
void *realloc(void *block, size_t size) { return __libc_realloc(block, size); }
void free(void *block) { __libc_free(block); }
"""

NO_ALLOCATOR = "int answer(void) { return 42; }\n"

OPERATOR_NEW_ONLY = r"""
#include <stddef.h>
#include <stdlib.h>
void *_Znwm(size_t size) { return malloc(size); }
void _ZdlPv(void *block) { free(block); }
"""

# Leaves a file behind when its main runs.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
    char *volatile block = malloc(100);
    free(block);
    return count > 1 && fclose(fopen(words[1], "w"));
}
"""

# Takes the address of malloc where the linker can only answer it with a stub of the program.
ADDRESS_TAKER = r"""
#include <stdlib.h>
int main(void) {
    void *(*volatile get)(size_t) = malloc;
    void (*volatile give)(void *) = free;
    free(malloc(1));
    give(get(1));
    return 0;
}
"""

CPLUSPLUS = "int main() { int *volatile p = new int(1); delete p; return 0; }\n"


def compiler() -> str:
    """The C compiler of the tests."""
    return os.environ.get("TESTED_CC") or os.environ.get("CC") or "cc"


def build(directory: Path, name: str, source: str, *options: str, cc: str | None = None) -> Path:
    """Compiles `source` to directory/name; a name that ends in .so is a shared library."""
    is_library = name.endswith(".so")
    plusplus = cc is not None
    file = directory / f"{name}.{'cc' if plusplus else 'c'}"
    file.write_text(source)
    result = directory / name
    # -fno-builtin: a compiler that knows malloc may take it away.
    kind = ["-shared", "-fPIC"] if is_library else []
    command = [cc or compiler(), "-O1", "-fno-builtin", "-w", *kind, "-o", str(result), str(file), *options]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return result
