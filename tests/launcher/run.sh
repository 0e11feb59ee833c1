# hakmem run: what the program gets, what reaches standard output, and what bad input is answered with.

. "$(dirname "$0")/tree.sh"

lib=$tree/build/standard/libhakmem.so

# The words printed by the stub show that the program really ran with the library.
try "$tree/hakmem" run -- sh -c 'echo "[$LD_PRELOAD] [${HAKMEM_PROFILE-}] [${HAKMEM_STATS-}]"'
expect_status 0 'a first run'
expect_output "[$lib] [] []" 'a first run'

try "$tree/hakmem" run --stats --profile lean -- sh -c 'echo "$HAKMEM_PROFILE $HAKMEM_STATS"'
expect_output 'lean 1' 'profile and stats'
expect_no_words err . 'a run that has nothing to build'

try "$tree/hakmem" run --profile=balanced -- sh -c 'echo "$HAKMEM_PROFILE"'
expect_output balanced 'a value after an equals sign'

try "$tree/hakmem" run --profile MIXED_TINYV3_C7_SAFE sh -c 'echo "$HAKMEM_PROFILE"'
expect_output MIXED_TINYV3_C7_SAFE 'an older profile name, and no --'

try "$tree/hakmem" run --variant fast -- sh -c 'echo "$LD_PRELOAD"'
expect_output "$tree/build/fast/libhakmem-fast.so" 'another variant'

try env LD_PRELOAD="$lib" "$tree/hakmem" run --variant fast -- sh -c 'echo "$LD_PRELOAD"'
expect_output "$lib:$tree/build/fast/libhakmem-fast.so" 'appended to an existing LD_PRELOAD'
expect_words err "LD_PRELOAD names $lib already, which comes first" 'another hakmem in LD_PRELOAD'

# Any other allocator there, too, by its name or by what it defines; and nothing else.
make_preloads
cp "$work/asks.so" "$work/libanothermalloc.so"
for name in serves libanothermalloc; do
    try env LD_PRELOAD="$work/$name.so" "$tree/hakmem" run -- true
    expect_words err "LD_PRELOAD names $work/$name.so already, which comes first: $lib will not be used" "the allocator $name"
done
try env LD_PRELOAD="$work/asks.so" "$tree/hakmem" run -- true
expect_no_words err . 'a library in LD_PRELOAD that is no allocator'

try env HAKMEM_VERBOSE=1 "$tree/hakmem" run -- true
expect_words err '^hakmem: first words$' 'the library is loaded'

# The program's own: arguments, exit status, signals, standard input, process id.
try "$tree/hakmem" run -- sh -c 'printf "%s|" "$@"' sh 'a b' '' '*' --stats
expect_output 'a b||*|--stats|' 'arguments pass unchanged'
try "$tree/hakmem" run -- sh -c 'exit 42'
expect_status 42 'the exit status of the program'
try "$tree/hakmem" run -- sh -c 'kill -9 $$'
expect_status 137 'the signal that ended the program'
echo 'from standard input' | "$tree/hakmem" run -- cat >"$work/out" 2>"$work/err"
expect_output 'from standard input' 'standard input'
sh -c 'echo $$; exec "$0" run -- sh -c "echo \$\$"' "$tree/hakmem" >"$work/out" 2>"$work/err"
[ "$(sort -u "$work/out" | wc -l)" -eq 1 ] || complain 'the process id stays the same'

# Called from elsewhere, and through a symbolic link.
ln -s "$tree/hakmem" "$work/link"
try sh -c 'cd / && "$0" run -- sh -c "echo \"\$LD_PRELOAD\""' "$work/link"
expect_output "$lib" 'through a symbolic link'

# Bad input: the value, what to write instead, status 2, nothing on standard output.
bad() {
    what=$1
    shift
    try "$tree/hakmem" "$@"
    expect_status 2 "$what"
    [ ! -s "$work/out" ] || complain "$what: something on standard output"
}
bad 'an unknown profile' run --profile quick -- true
expect_words err "unknown profile 'quick': use one of speed, balanced, lean" 'an unknown profile'
bad 'an unknown variant' run --variant=slow -- true
expect_words err "unknown variant 'slow': use one of standard fast observe hardened check" 'an unknown variant'
bad 'a missing value' run --profile
expect_words err '.*--profile needs a value' 'a missing value'
bad 'an unknown option' run --fast -- true
expect_words err "unknown option '--fast'" 'an unknown option'
bad 'no command' run --stats
expect_words err 'no command given' 'no command'
bad 'an empty command' run -- ''
for command in build test doctor lint; do
    try "$tree/hakmem" $command --help
    expect_status 0 "$command --help"
    expect_words out "^usage: hakmem $command" "$command --help"
done
bad 'an argument of lint' lint fast
expect_words err "lint takes no argument, not 'fast'" 'an argument of lint'
bad 'an unknown launcher command' start
expect_words err "unknown command 'start'" 'an unknown launcher command'
bad 'no launcher command'
expect_words err 'usage: hakmem' 'no launcher command'

try "$tree/hakmem" run -- no-such-program-here
expect_status 127 'a command that is not there'
expect_words err "command not found: 'no-such-program-here'" 'a command that is not there'
[ ! -s "$work/out" ] || complain 'a command that is not there: something on standard output'

# What is there, but cannot be run: as a shell says it.
echo 'echo no' >"$work/script"
for word in "$work/script" "$work"; do
    try "$tree/hakmem" run -- "$word"
    expect_status 126 "run -- $word"
    expect_words err "cannot run '$word': it is no file that may be executed; try chmod +x" "run -- $word"
done

# A name in PATH that may not be executed is there, and so is one that comes later and may be.
mkdir "$work/first" "$work/second"
echo 'echo no' >"$work/first/its-name"
try env PATH="$work/first:$PATH" "$tree/hakmem" run -- its-name
expect_status 126 'a name in PATH that may not be executed'
expect_words err "cannot run '$work/first/its-name': it is no file that may be executed" 'a name in PATH that may not be executed'
printf '#!/bin/sh\necho second\n' >"$work/second/its-name"
chmod +x "$work/second/its-name"
try env PATH="$work/first:$work/second:$PATH" "$tree/hakmem" run -- its-name
expect_output second 'a name in PATH that may be executed, behind one that may not'

try "$tree/hakmem" run -- "$work/nowhere"
expect_status 127 'a path that is not there'
expect_words err "there is no file '$work/nowhere'" 'a path that is not there'
ln -s "$work/nowhere" "$work/link-to-nowhere"
try "$tree/hakmem" run -- "$work/link-to-nowhere"
expect_status 127 'a link to nowhere'
expect_words err "is a link to '$work/nowhere', which is not there" 'a link to nowhere'

# What starts a script or a binary is missing: the words name it, not the script, and nothing is said by the shell.
# starts_with STATUS WORDS FORMAT: of an executable file with this content, written as printf writes it.
starts_with() {
    # shellcheck disable=SC2059 # the content is the format
    printf "$3" >"$work/started"
    chmod +x "$work/started"
    for option in '' --explain; do
        # shellcheck disable=SC2086 # none, or one
        try "$tree/hakmem" run $option -- "$work/started"
        expect_status "$1" "a file of '$3'"
        expect_words err "^hakmem: cannot run '$work/started': $2" "a file of '$3'"
        expect_no_words err ' exec: ' "a file of '$3'"
    done
}
starts_with 127 "its first line names the interpreter '/no/such/shell', which is not there; install it" '#!/no/such/shell -e\n'
starts_with 127 "its first line names the interpreter './shell', which is not there" '#! shell\n'
starts_with 127 "its first line names the interpreter 'no-such-python', which is not there" '#!/usr/bin/env no-such-python\n'
starts_with 126 "its first line names the interpreter '/etc/passwd', which is no file that may be executed" '#!/etc/passwd\n'
starts_with 127 'its first line ends with a carriage return' '#!/bin/sh\r\n'
starts_with 127 "it needs the loader '/lib/ld-nowhere.so.1', which is not there" '\177ELF\0\0/lib/ld-nowhere.so.1\0'
starts_with 127 "it needs the loader '/no/ld-musl-x86_64.so.1', which is not there" '\177ELF\0\0/no/ld-musl-x86_64.so.1\0'
printf '#!/bin/sh\n' >"$work/ld-musl-x86_64.so.1"
chmod +x "$work/ld-musl-x86_64.so.1"
printf '\177ELF\0\0%s\0' "$work/ld-musl-x86_64.so.1" >"$work/started"
try "$tree/hakmem" run --variant fast -- "$work/started"
expect_status 126 'a program that is linked with musl, in another variant'
expect_words err 'it is linked with musl, for which there is the standard variant alone, not fast' 'musl, in another variant'
for line in '#!/bin/sh' '#!/usr/bin/env sh' '#! /usr/bin/env -S sh -e' '' '#!'; do
    printf '%s\necho started\n' "$line" >"$work/started"
    chmod +x "$work/started"
    try "$tree/hakmem" run -- "$work/started"
    expect_output started "a script that begins with '$line'"
done
printf '\177ELF\0\0' >"$work/started"
try "$tree/hakmem" run -- "$work/started"
expect_status 126 'a file that the kernel does not know'
expect_words err "^hakmem: cannot run '$work/started': the system does not know how to start it" 'a file that the kernel does not know'

# Programs that run, but not on hakmem: it is said on standard error, and of no other.
cat >"$work/hello.c" <<'EOF'
#include <stdio.h>
int main(void) { return puts("hello") < 0; }
EOF
for how in -static -static-pie; do
    cc "$how" -o "$work/hello" "$work/hello.c"
    printf '#!%s\n' "$work/hello" >"$work/started"
    for program in hello started; do
        try "$tree/hakmem" run -- "$work/$program"
        expect_output hello "$program, $how"
        expect_words err "^hakmem: '$work/hello' runs without hakmem: it is linked statically" "$program, $how"
    done
done
cc -o "$work/hello" "$work/hello.c"
try "$tree/hakmem" run -- "$work/hello"
expect_output hello 'a program that is linked dynamically'
expect_no_words err . 'a program that is linked dynamically'
printf '#!/bin/sh\n' >"$work/ld-linux.so.2"
chmod +x "$work/ld-linux.so.2"
printf '\177ELF\0\0%s\0' "$work/ld-linux.so.2" >"$work/started"
try "$tree/hakmem" run -- "$work/started"
expect_words err "^hakmem: '$work/started' runs without hakmem: it is a program of 32 bits" 'a program of 32 bits'
cp "$work/hello" "$work/setuid"
if [ "$(id -u)" -eq 0 ] && chown 65534 "$work/setuid" && chmod u+s "$work/setuid"; then
    try "$tree/hakmem" run -- "$work/setuid"
    expect_output hello 'a program of another user'
    expect_words err "^hakmem: '$work/setuid' runs without hakmem: it runs with the rights of its owner" 'a program of another user'
fi

# What only a shell knows is no command.
for word in cd usage; do
    try "$tree/hakmem" run -- "$word"
    expect_status 127 "run -- $word"
    expect_words err 'command not found' "run -- $word"
done

finish
