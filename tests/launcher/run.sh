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

# What only a shell knows is no command.
for word in cd usage; do
    try "$tree/hakmem" run -- "$word"
    expect_status 127 "run -- $word"
    expect_words err 'command not found' "run -- $word"
done

finish
