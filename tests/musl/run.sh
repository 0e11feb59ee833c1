# hakmem run takes the library that is compiled for musl for a program that is linked with it, and what that starts runs on, with whatever libc.

set -u
hakmem=$TESTED_SOURCE_DIR/hakmem
program=$TESTED_PROGRAMS/musl_program

# expect WORDS WHAT GOT
expect() {
    case $3 in
        *"$1"*) ;;
        *)
            echo "$2: '$3', not '$1'"
            exit 1
            ;;
    esac
}

version=$("$hakmem" version | sed -n 's/^hakmem \([0-9.]*\).*/\1/p')
[ -n "$version" ] || { echo 'hakmem version says none'; exit 1; }
expect 'hakmem none' 'without hakmem' "$("$program")"
expect "hakmem $version" 'a program that is linked with musl' "$("$hakmem" run -- "$program")"
expect "hakmem $version" 'what it starts, which is linked with musl' "$("$hakmem" run -- "$program" "$program")"
expect 'libhakmem-musl.so' 'what it starts, which is linked with glibc' "$("$hakmem" run -- "$program" cat /proc/self/maps)"
expect 'summary of musl_program' 'a summary' "$("$hakmem" run --stats -- "$program" 2>&1)"
if [ -x "$TESTED_SOURCE_DIR/build/venv/bin/python" ]; then
    profile=$(mktemp)
    trap 'rm -f "$profile"' EXIT
    expect keep_much 'who holds memory' "$("$hakmem" run --sample 64k --heap "$profile" -- "$program" keep 2>&1)"
    expect 'live blocks' 'where memory is' "$("$hakmem" run --explain -- "$program" keep 2>&1)"
fi
words=$("$hakmem" run --variant hardened -- "$program" 2>&1)
status=$?
[ $status -eq 126 ] || { echo "another variant: status $status"; exit 1; }
expect 'for which there is the standard variant alone, not hardened' 'another variant' "$words"
