# The command `hakmem` where it is installed: it runs programs on the library that lies there, wherever the tree was moved, explains
# them, and says of what it has not where that is.

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LD_PRELOAD

fail() {
    echo "FAILED: $*"
    exit 1
}

# expect_words FILE WORDS WHAT
expect_words() {
    grep -q -e "$2" "$1" || fail "$3: $(cat "$1")"
}

# refused STATUS WORDS...: what the command says then, and that standard output stays empty.
refused() {
    expected=$1 words=$2
    shift 2
    status=0
    "$hakmem" "$@" >"$work/out" 2>"$work/err" || status=$?
    [ "$status" -eq "$expected" ] && [ ! -s "$work/out" ] || fail "hakmem $*: status $status: $(cat "$work/out" "$work/err")"
    expect_words "$work/err" "$words" "hakmem $*"
}

cmake --install "$TESTED_BUILD_DIR" --prefix "$work/first" >"$work/log" || fail "install: $(cat "$work/log")"
mv "$work/first" "$work/moved"
hakmem=$work/moved/bin/hakmem
share=$work/moved/share/hakmem
library=$(cd "$share" && . ./installed && cd "$installed_libraries" && pwd -P)/libhakmem.so
[ -e "$library" ] || fail "$share/installed says where $library should be"
! find "$share" -name tests -o -name __pycache__ | grep . || fail 'tests are installed, too'

"$hakmem" run -- cat /proc/self/maps >"$work/out"
expect_words "$work/out" "${library%.so}" 'what a program has loaded'
status=0
"$hakmem" run -- sh -c 'exit 7' || status=$?
[ $status -eq 7 ] || fail "the exit status is $status"
PATH=$work/moved/bin:$PATH hakmem run --stats --profile lean -- sort /dev/null 2>"$work/err"
expect_words "$work/err" 'summary of .*profile lean' 'run --stats'
version=$(sed -n 's/^project(hakmem VERSION \([0-9.]*\).*/\1/p' "$TESTED_SOURCE_DIR/CMakeLists.txt")
"$hakmem" version >"$work/out"
expect_words "$work/out" "^hakmem $version (" version
expect_words "$work/out" "standard *$library" version
"$hakmem" help >"$work/out"
expect_words "$work/out" '^  explain PID' help
! grep -q -e bench -e asan "$work/out" || fail "help names what is not there: $(cat "$work/out")"
"$hakmem" run --help >"$work/out"
printf '%s\n' 'madvise [never]' >"$work/never"
sh -c 'root=$1 build_root=; . "$1/launcher/say.sh"; . "$1/launcher/installed.sh"; . "$1/launcher/doctor.sh"; check_medium_pages madvise "$2"' \
    sh "$share" "$work/never" >>"$work/out"
documents=$(grep -o '[^ (]*\.md' "$work/out" | sort -u)
[ "$(printf '%s\n' "$documents" | wc -l)" -eq 5 ] || fail "documents are named otherwise: $documents"
for document in $documents; do
    [ "${document#/}" != "$document" ] && [ -s "$document" ] || fail "help names $document, which is not installed"
done
export XDG_CACHE_HOME="$work/cache"
"$hakmem" doctor >"$work/out" || fail "doctor: $(cat "$work/out")"
expect_words "$work/out" "ok  *standard loads" doctor
! grep -q -e cmake -e 'is built' "$work/out" || fail "doctor wants to build: $(cat "$work/out")"
HAKMEM_PURGE_DELAY=5 "$hakmem" doctor | grep -q 'HAKMEM_PURGE_DELAY=5 is set' || fail 'doctor does not know the options'

refused 1 'the variant hardened is not installed: .*libhakmem-hardened.so; install it (the package hakmem-hardened)' run --variant hardened -- true
refused 2 "hakmem bench works in hakmem's source tree: what is installed has run, explain" bench
refused 2 "hakmem scorecard works in hakmem's source tree" help scorecard
refused 2 "unknown command 'rum': use one of run, explain, heap, calls, top, doctor, version, help" rum
XDG_CACHE_HOME=near refused 2 "XDG_CACHE_HOME must begin with /, not be 'near'" explain 1
: >"$work/file"
XDG_CACHE_HOME=$work/file refused 1 'make it writable, or set XDG_CACHE_HOME to a place that is' explain 1
(
    unset HOME XDG_CACHE_HOME
    export PIP_NO_INDEX=1 # nothing is fetched
    refused 2 'neither HOME nor XDG_CACHE_HOME is set, and explain, .* keep Python packages there: set one of them' explain $$
    "$hakmem" doctor >"$work/out" || fail "doctor without a home: $(cat "$work/out")"
    expect_words "$work/out" 'note  *neither HOME nor XDG_CACHE_HOME is set' 'doctor without a home'
    "$hakmem" run -- true || fail 'run needs a home'
)

ended=$(sh -c 'echo $$')
refused 2 "there is no process $ended" explain "$ended"
mv "$work/err" "$work/before"

# A Python with the lab's packages, if the tests run with one, stands for that which pip would make.
if python3 -c 'import click, elftools, rich, typer' 2>/dev/null; then
    mkdir -p "$work/cache/hakmem/venv/bin"
    printf '#!/bin/sh\nexec %s "$@"\n' "$(command -v python3)" >"$work/cache/hakmem/venv/bin/python"
    chmod +x "$work/cache/hakmem/venv/bin/python"
    sed 's/[[:space:]]*#.*//; /^$/d' "$share/lab/requirements.txt" | sort -u >"$work/cache/hakmem/venv/installed.txt"
    refused 2 "there is no process $ended" explain "$ended"
    cmp "$work/before" "$work/err" || fail 'there are other words for it before Python is there'
    "$hakmem" run --explain -- sh -c : >"$work/out" 2>"$work/err" || fail "run --explain: $(cat "$work/err")"
    expect_words "$work/err" '^live blocks' 'run --explain'
    "$hakmem" run -- sleep 60 &
    process=$!
    tries=0
    until "$hakmem" doctor $process 2>/dev/null | grep -q "has loaded $library" || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done
    "$hakmem" explain $process >"$work/out" 2>"$work/err" || fail "explain: $(cat "$work/err")"
    expect_words "$work/out" '^live blocks' explain
    "$hakmem" top $process --count 1 >"$work/out" 2>"$work/err" || fail "top: $(cat "$work/err")"
    kill $process
else
    echo "no Python with the lab's packages: that part was left out"
fi

rm "$library"*
refused 1 'the variant standard is not installed' run -- true
rm -r "$(dirname "$library")"
refused 1 'the libraries of this hakmem are not where .*installed says: install it again' version
echo passed
