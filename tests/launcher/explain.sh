# hakmem explain, hakmem top and hakmem run --explain: what they give to the Python of build/venv, and in which environment.

. "$(dirname "$0")/tree.sh"

fake_python LD_PRELOAD PYTHONPATH HAKMEM_PROFILE
lib=$tree/build/standard/libhakmem.so

try env PYTHONPATH=mine "$tree/hakmem" explain --stop 17
expect_status 0 'explain'
expect_output "<$tree><explain><--stop><17> [] [mine] []" 'the words reach the lab, and nothing is built'
try env PYTHONPATH=mine "$tree/hakmem" top --count 2 17
expect_status 0 'top'
expect_output "<$tree><top><--count><2><17> [] [mine] []" 'the words of top'
[ ! -e "$lib" ] || complain 'explain and top need no library'

try env PYTHONPATH=mine "$tree/hakmem" run --explain --profile lean -- sh -c 'echo "a b"'
expect_status 0 'run --explain'
expect_output "<$tree><explain><--run><$lib><--><sh><-c><echo \"a b\"> [] [mine] [lean]" 'run --explain'
[ -e "$lib" ] || complain 'run --explain builds the library'

try "$tree/hakmem" run --explain -- no-such-program-here
expect_status 127 'a command that is not there'
try "$tree/hakmem" run --explain
expect_status 2 'no command'
expect_words err 'no command given' 'no command'

ended=$(sh -c 'echo $$')

# In a fresh tree its Python is made first; here there is none to make it with.
rm -rf "$tree/build/venv"
mkdir -p "$tree/tests" "$tree/poor"
echo wanted >"$tree/tests/requirements.txt"
for program in python3 python3.14 python3.13 python3.12 python3.11 apt-get sudo; do
    printf '#!/bin/sh\nexit 1\n' >"$tree/poor/$program"
    chmod +x "$tree/poor/$program"
done
for words in "$$" "0$ended" '--stop 1' "top $ended" "$ended --help"; do
    # shellcheck disable=SC2086 # the words
    try env PATH="$tree/poor:$PATH" "$tree/hakmem" explain $words
    expect_status 1 "explain $words without Python"
    expect_words err 'explain needs these Python packages' "explain $words without Python"
    expect_no_words err 'not found' "explain $words without Python"
done

# Nor is it made to say that there is no such process.
rm "$tree/build/venv.log"
for command in explain heap calls top; do
    try env PATH="$tree/poor:$PATH" "$tree/hakmem" $command "$ended" --json -
    expect_status 2 "$command of a process that is not there"
    expect_words err "^hakmem: there is no process $ended\$" "$command of a process that is not there"
    expect_words err '^  `pgrep -a NAME` lists processes; one that has ended cannot be read$' "$command of a process that is not there"
    expect_no_words err 'installing' "$command of a process that is not there"
done
[ ! -e "$tree/build/venv.log" ] || complain 'Python is made to say that there is no process'

# A disk that is full, where nothing gets into the log: the cause is said, and what was begun makes no room scarcer. full_at STEP: a Python on it.
full_at() {
    cat >"$tree/poor/python3" <<END
#!/bin/sh
case "\$*" in
    *sys.exit* | *'import pip') ;;
    '-m venv '*) mkdir -p "\$3/bin" && cp "\$0" "\$3/bin/python" ;;
    *'-m $1'*) echo run >>"$work/runs" && printf "OSError: [Errno 28] No space left on device\n\n1\n2\n3\n4\n" >&2 && exit 1 ;;
esac
END
}
for step in ensurepip 'pip install'; do
    full_at "$step"
    rm -rf "$tree/build/venv" "$work/runs"
    ln -sf /dev/null "$tree/build/venv.log"
    try env PATH="$tree/poor:$PATH" "$tree/hakmem" explain $$
    expect_status 1 "a disk that is full at $step"
    expect_words err 'No space left on device' "a disk that is full at $step"
    expect_words err 'what was begun in build/venv is removed: make room for some' "a disk that is full at $step"
    [ ! -e "$tree/build/venv" ] || complain "a disk that is full at $step: what was begun is still there"
    [ "$(wc -l <"$work/runs")" -eq 1 ] || complain "a disk that is full at $step: it is tried again"
done

finish
