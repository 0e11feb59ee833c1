# The public headers compile by themselves, without a warning, in every language they promise.

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

warnings="-Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only"
include="-I$TESTED_SOURCE_DIR/include"

printf '#include "hakmem.h"\n#include "hakmem.h"\nint main(void) { return hakmem_version() == 0; }\n' > "$work/c.c"
for standard in c99 c11 c17; do
    "$TESTED_CC" -std=$standard $warnings "$include" "$work/c.c"
done
# A program that gives the names of libc to hakmem by macros, and one that has macros with names as common as those of attributes.
"$TESTED_CC" -std=gnu11 $warnings "$include" -Dmalloc=hakmem_malloc -Dfree=hakmem_free -Dnonnull=1 -Dvisibility=1 -Dalloc_size=1 "$work/c.c"

if [ -z "${TESTED_CXX:-}" ]; then
    echo "SKIP: no C++ compiler for the C++ headers"
    exit 77
fi
cp "$work/c.c" "$work/c.cpp"
printf '#include "hakmem/allocator.hpp"\nint main() { return sizeof(hakmem::allocator<int>) == 0; }\n' > "$work/allocator.cpp"
printf '#include "hakmem/memory_resource.hpp"\nint main() { return hakmem::resource() == nullptr; }\n' \
    > "$work/resource.cpp"
for standard in c++11 c++14 c++17 c++20; do
    "$TESTED_CXX" -std=$standard $warnings "$include" "$work/c.cpp"
    "$TESTED_CXX" -std=$standard $warnings "$include" "$work/allocator.cpp"
done
for standard in c++17 c++20; do
    "$TESTED_CXX" -std=$standard $warnings "$include" "$work/resource.cpp"
done
"$TESTED_CXX" -std=c++98 $warnings "$include" "$work/c.cpp" # the C header only
"$TESTED_CXX" -std=c++17 -fno-exceptions -fno-rtti $warnings "$include" "$work/resource.cpp"
