# hakmem test: the table, the last line and the exit status, on a tree with one test of each fate.

. "$(dirname "$0")/tree.sh"

# Everything counts as installed, and nothing may be.
mkdir "$work/tools"
printf '#!/bin/sh\necho "install ok installed"\n' >"$work/tools/dpkg-query"
printf '#!/bin/sh\necho called >>"%s/apt"\nexit 1\n' "$work" >"$work/tools/apt-get"
chmod +x "$work/tools"/*
PATH=$work/tools:$PATH
export PATH

mkdir -p "$tree/tests/fates"
cat >"$tree/tests/fates/CMakeLists.txt" <<'END'
hakmem_script_test(NAME good COMMAND good.sh LABELS api)
hakmem_script_test(NAME bad COMMAND bad.sh LABELS unit)
hakmem_script_test(NAME skipped COMMAND skipped.sh LABELS unit)
hakmem_script_test(NAME slow COMMAND slow.sh LABELS unit VARIANTS standard TIMEOUT 1)
hakmem_test(NAME program SOURCES program.c ARGS 'a b' LABELS api)
hakmem_test(NAME archive SOURCES program.c LINK_ARCHIVE ARGS 'a b' VARIANTS fast)
hakmem_test(NAME preloaded SOURCES program.c PRELOAD ARGS 'a b' VARIANTS fast ENVIRONMENT WANT_PRELOAD=1)
END
cat >"$tree/tests/fates/good.sh" <<'END'
[ -e "$TESTED_LIB" ] && [ -e "$TESTED_ARCHIVE" ] && [ -d "$TESTED_SOURCE_DIR/src" ] || exit 1
[ -z "${HAKMEM_STRAY-}${LD_PRELOAD-}" ] && ! read -r line
END
cat >"$tree/tests/fates/bad.sh" <<'END'
i=0
while [ $i -lt 100 ]; do echo "line $i"; i=$((i + 1)); done
echo 'because <a> & "b"'
exit 1
END
echo 'echo "SKIP: no such thing here"; exit 77' >"$tree/tests/fates/skipped.sh"
echo 'sleep 60' >"$tree/tests/fates/slow.sh"
cat >"$tree/tests/fates/program.c" <<'END'
#include <stdlib.h>
#include <string.h>
int main(int count, char **arguments) {
    const char *preload = getenv("LD_PRELOAD");
    return count != 2 || !strstr(arguments[1], "a b") || !getenv("WANT_PRELOAD") != !preload;
}
END
sed -i "s/ARGS 'a b'/ARGS \"a b\"/" "$tree/tests/fates/CMakeLists.txt"

try env HAKMEM_STRAY=1 "$tree/hakmem" test standard fast check
expect_status 1 'a run with failures'
tail -n 1 "$work/out" >"$work/last"
[ "$(cat "$work/last")" = '6 passed, 3 failed, 2 skipped' ] || complain 'the last line'
expect_words out '^standard  *2  *2  *1  *[0-9]*   *bad slow$' 'the row of a variant'
expect_words out '^fast  *4  *0  *0 ' 'the row of a variant in which all pass'
expect_words out '^check  *0  *1  *1  *[0-9]*   *bad$' 'the row after a failed variant'
expect_words out '^standard: skipped skipped: SKIP: no such thing here$' 'the reason of a skip'
sed -n '/^==== standard: bad failed/,/^====/p' "$work/out" >"$work/again"
grep -q -F 'because <a> & "b"' "$work/again" || complain 'the last lines of a failed test come again'
grep -q '^line 99$' "$work/again" && ! grep -q '^line 20$' "$work/again" || complain 'sixty lines come again'

# A variant that does not build is a failure, and the next one still runs.
rm "$tree/tests/fates/slow.sh" "$tree/tests/fates/bad.sh"
sed -i '/slow\|bad/d' "$tree/tests/fates/CMakeLists.txt"
printf '#ifdef HAKMEM_VARIANT_FAST\n#error fast is broken\n#endif\n' >>"$tree/src/stub.h"
try "$tree/hakmem" test fast standard
expect_status 1 'a variant that does not build'
expect_words out 'fast is broken' 'the words of the compiler'
expect_words out '^fast  *0  *1  *0  *[0-9]*   *(build)$' 'the row of a variant that does not build'
expect_words out '^2 passed, 1 failed, 1 skipped$' 'the variants after it still run'

sed -i '/HAKMEM_VARIANT_FAST/,$d' "$tree/src/stub.h"
try "$tree/hakmem" test standard
expect_status 0 'a run without failures'
expect_words out '^2 passed, 0 failed, 1 skipped$' 'a run without failures'

# What is known of failures is not lost: neither a row that cannot be written, nor the word of ctest.
mkdir "$work/full" "$work/uneasy"
printf '#!/bin/sh\nd=$(%s "$@") && ln -s /dev/full "$d/counts" && echo "$d"\n' "$(command -v mktemp)" >"$work/full/mktemp"
printf '#!/bin/sh\n%s "$@"\nexit 8\n' "$(command -v ctest)" >"$work/uneasy/ctest"
chmod +x "$work/full/mktemp" "$work/uneasy/ctest"
try env PATH="$work/full:$PATH" "$tree/hakmem" test standard
expect_status 1 'a row that cannot be written'
expect_words err 'cannot write in .*set TMPDIR' 'a row that cannot be written'
try env PATH="$work/uneasy:$PATH" "$tree/hakmem" test standard
expect_status 1 'a failure that the results do not show'
expect_words out '^2 passed, 1 failed, 1 skipped$' 'a failure that the results do not show'
expect_words out '^standard  *2  *1  *1  *[0-9]*   *(ctest: exit status 8)$' 'a failure that the results do not show'

# Interrupted: the variants that were tested until then are said.
printf '#!/bin/sh\ncase "$*" in */fast\ *) kill -TERM $PPID; exit 8 ;; esac\n%s "$@"\n' "$(command -v ctest)" >"$work/uneasy/ctest"
try env PATH="$work/uneasy:$PATH" "$tree/hakmem" test standard fast
expect_status 143 'a run that is ended'
expect_words out '^2 passed, 0 failed, 1 skipped; not all variants were tested$' 'a run that is ended'
expect_words err 'interrupted' 'a run that is ended'

try "$tree/hakmem" test all
expect_status 2 'an unknown variant'
[ ! -e "$work/apt" ] || complain 'apt-get was called though everything is installed'

finish
