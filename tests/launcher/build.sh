# hakmem build, and the build inside hakmem run: first runs together, changed sources, failures, odd places.

. "$(dirname "$0")/tree.sh"

# Six first runs at once: all of them end well, and the library is built once.
for i in 1 2 3 4 5 6; do
    (HAKMEM_VERBOSE=1 "$tree/hakmem" run -- sh -c "echo run $i" >"$work/out.$i" 2>"$work/err.$i" </dev/null
     echo $? >"$work/status.$i") &
done
wait
for i in 1 2 3 4 5 6; do
    cp "$work/out.$i" "$work/out" && cp "$work/err.$i" "$work/err" && status=$(cat "$work/status.$i")
    expect_status 0 "first run $i of six"
    expect_output "run $i" "first run $i of six"
    expect_words err '^hakmem: first words$' "first run $i of six"
done
[ "$(grep -c 'Linking C shared' "$tree/build/standard/build.log")" -eq 1 ] || complain 'the library was built once'

# A changed source is built before the program runs; an unchanged one is not built again.
sleep 1.1
echo '#define STUB_WORDS "second words"' >"$tree/src/stub.h"
try env HAKMEM_VERBOSE=1 "$tree/hakmem" run -- true
expect_words err '^hakmem: second words$' 'a changed source'
rm "$tree/build/standard/build.log"
try "$tree/hakmem" run -- true
[ ! -e "$tree/build/standard/build.log" ] || complain 'an unchanged source was built again'

# A source that does not compile: status 1, the compiler's words, and no old library is used.
sleep 1.1
echo '#error stubs are broken' >"$tree/src/stub.h"
for attempt in first second; do
    try "$tree/hakmem" run -- echo ran
    expect_status 1 "a broken source, $attempt attempt"
    expect_output '' "a broken source, $attempt attempt"
    expect_words err 'stubs are broken' "a broken source, $attempt attempt"
done
sleep 1.1
echo '#define STUB_WORDS "third words"' >"$tree/src/stub.h"
try env HAKMEM_VERBOSE=1 "$tree/hakmem" run -- true
expect_words err '^hakmem: third words$' 'a mended source'

# A cache that another place or an interrupted run left behind.
make_tree "$work/moved"
mkdir -p "$work/moved/build"
cp -R "$tree/build/standard" "$work/moved/build/"
rm "$work/moved/build/standard/.built"
try env HAKMEM_VERBOSE=1 "$work/moved/hakmem" run -- true
expect_status 0 'a build directory of another place'
expect_words err '^hakmem: first words$' 'a build directory of another place'

# Several variants, by name and by default.
try "$tree/hakmem" build fast check
expect_status 0 'two variants'
[ -e "$tree/build/fast/libhakmem-fast.so" ] && [ -e "$tree/build/check/libhakmem-check.a" ] ||
    complain 'two variants: a library is missing'
try "$tree/hakmem" build quick
expect_status 2 'an unknown variant'
expect_words err "unknown variant 'quick'" 'an unknown variant'

# Places that cannot work are named.
make_tree "$work/a tree"
try "$work/a tree/hakmem" run -- true
expect_status 1 'a path with a space'
expect_words err 'has a space or a colon' 'a path with a space'
if [ "$(id -u)" -ne 0 ]; then
    make_tree "$work/locked"
    chmod a-w "$work/locked"
    try "$work/locked/hakmem" run -- true
    expect_status 1 'a tree that cannot be written'
    expect_words err 'cannot write in' 'a tree that cannot be written'
fi

finish
