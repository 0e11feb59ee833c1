# hakmem doctor, version and help: they print on standard output, and doctor tells a loaded library from a broken one.

. "$(dirname "$0")/tree.sh"

try "$tree/hakmem" help
expect_status 0 help
expect_words out '^usage: hakmem' help

try "$tree/hakmem" help run
expect_status 0 'help of a command'
expect_words out '^  --profile P ' 'help of a command'
for words in 'help help' '--help help'; do
    try "$tree/hakmem" $words
    expect_status 0 "$words"
    expect_words out '^usage: hakmem COMMAND' "$words"
done
try "$tree/hakmem" --help run
expect_words out '^  --profile P ' '--help COMMAND'
try "$tree/hakmem" help run build
expect_status 2 'help of two commands'
expect_words err "not 'run build'" 'help of two commands'
try "$tree/hakmem" help walk
expect_status 2 'help of what is no command'
expect_words err "unknown command 'walk': use one of run, explain" 'help of what is no command'

try "$tree/hakmem" version
expect_status 0 version
expect_words out '^hakmem [0-9]*\.[0-9]*\.[0-9]* (' version
expect_no_words out 'standard  ' 'version before anything is built'
try "$tree/hakmem" version standard
expect_status 2 'version of something'
expect_words err "version takes no argument, not 'standard'" 'version of something'

try "$tree/hakmem" doctor
expect_status 0 'doctor before anything is built'
expect_no_words out ' WRONG ' 'doctor before anything is built'
expect_words out 'note   no library is built yet' 'doctor before anything is built'

try "$tree/hakmem" build standard
try "$tree/hakmem" version
expect_words out 'standard .*/libhakmem.so$' 'version after a build'

try env HAKMEM_NO_SUCH=1 "$tree/hakmem" doctor
expect_status 0 doctor
expect_words out 'ok     standard loads: hakmem: first words' doctor
expect_no_words out 'no library is built yet' doctor
expect_words out 'note   HAKMEM_NO_SUCH=1 is no option' doctor

medium=/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled
case $(cat /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null):$(cat $medium 2>/dev/null) in
    *'[always]'*:* | *:) expect_no_words out 'pages of 64 KiB' doctor ;;
    *'[never]') expect_words out "note   pages of 64 KiB are off: with 'always' in $medium" doctor ;;
    *) expect_words out 'ok     pages of 64 KiB: ' doctor ;;
esac

try env HAKMEM_STUB_SAYS='hakmem: ignored (not 0 or 1): HAKMEM_STATS=2' "$tree/hakmem" doctor
expect_status 0 'doctor where a value is ignored'
expect_words out 'ok     standard loads: hakmem: first words' 'doctor where a value is ignored'
expect_words out 'note   ignored (not 0 or 1): HAKMEM_STATS=2' 'doctor where a value is ignored'
try env HAKMEM_STUB_SAYS='hakmem: refused (not 0 or 1): HAKMEM_STATS=2' "$tree/hakmem" doctor
expect_status 1 'doctor where a value is refused'
expect_words out 'ok     standard loads: hakmem: first words' 'doctor where a value is refused'
expect_words out 'WRONG  every program on hakmem ends with status 2: refused (not 0 or 1): HAKMEM_STATS=2' 'doctor where a value is refused'

# LD_PRELOAD as it is set: each of what it names, and nothing is run with it.
make_preloads
try env LD_PRELOAD="$work/asks.so:$tree/build/standard/libhakmem.so $work/serves.so" "$tree/hakmem" doctor
expect_status 0 'doctor with LD_PRELOAD'
expect_words out "note   LD_PRELOAD names $work/asks.so, which is no allocator" 'doctor with LD_PRELOAD'
expect_words out "ok     LD_PRELOAD names $tree/build/standard/libhakmem.so: programs" 'doctor with LD_PRELOAD'
expect_words out "note   LD_PRELOAD names $work/serves.so, an allocator" 'doctor with LD_PRELOAD'
expect_no_words out 'LD_PRELOAD is empty' 'doctor with LD_PRELOAD'
try env LD_PRELOAD="$work/gone.so" "$tree/hakmem" doctor
expect_status 1 'doctor with a library that is not there'
expect_words out "WRONG  LD_PRELOAD names $work/gone.so, which is not there" 'doctor with a library that is not there'
try env LD_PRELOAD="$tree/build/standard/libhakmem.so" HAKMEM_STUB_SAYS='hakmem: ignored (not 0 or 1): HAKMEM_STATS=2' "$tree/hakmem" doctor
[ "$(grep -c 'note   ignored' "$work/out")" -eq 1 ] || complain 'doctor on hakmem itself: each finding once'

# What the lab takes.
mkdir -p "$tree/lab"
echo 'no-such-package' >"$tree/lab/requirements.txt"
try "$tree/hakmem" doctor
expect_words out 'note   no Python packages of the lab' 'doctor before they are installed'
mkdir -p "$tree/build/venv/bin"
ln -s /no/such/python "$tree/build/venv/bin/python"
echo 'no-such-package' >"$tree/build/venv/installed.txt"
try "$tree/hakmem" doctor
expect_status 1 'doctor where another user made them'
expect_words out "WRONG  $tree/build/venv was made by another user, and its Python (/no/such/python) cannot be run" 'doctor where another user made them'
expect_words out 'standard loads: ' 'doctor where another user made them: the libraries'
expect_words out 'LD_PRELOAD is empty' 'doctor where another user made them: the environment'
expect_no_words err . 'doctor where another user made them'
rm -r "$tree/build/venv"
rm "$tree/lab/requirements.txt"
for scope in 0 1; do
    echo "$scope" >"$work/scope"
    # shellcheck disable=SC2016 # of the shell that is started
    try sh -c 'root=$1; build_root=$1/build; . "$root/launcher/say.sh"; . "$root/launcher/doctor.sh"; id() { echo 1000; }; check_lab "$2"' sh "$tree" "$work/scope"
    case $scope in
        0) expect_words out 'ok     kernel.yama.ptrace_scope=0' 'doctor where processes may be looked at' ;;
        1) expect_words out 'note   kernel.yama.ptrace_scope=1: explain, heap, top and calls look only at' 'doctor where they may not' ;;
    esac
done

# What cannot be written is said once, and is an error.
if [ -c /dev/full ]; then
    for words in version --version help doctor 'version --help' 'doctor --help' 'build --help' 'run --help' 'test --help' 'lint --help'; do
        : >"$work/out"
        # shellcheck disable=SC2086 # the words
        "$tree/hakmem" $words >/dev/full 2>"$work/err" </dev/null
        status=$?
        expect_status 1 "$words on a disk that is full"
        [ "$(cat "$work/err")" = 'hakmem: cannot write on standard output: make room, or send it to a place that can be written' ] ||
            complain "$words on a disk that is full: other words"
    done
fi
try sh -c '"$1" version | head -n 1' sh "$tree/hakmem"
expect_no_words err . 'version with a reader that goes away'

# Of the process that was started last, once it has loaded the library; then it ends.
doctor_of_sleeper() {
    sleeper=$!
    tries=0
    while ! grep -q libhakmem "/proc/$sleeper/maps" 2>/dev/null && [ $tries -lt 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    try "$tree/hakmem" doctor "$sleeper"
    kill "$sleeper"
}

"$tree/hakmem" run -- sleep 120 >/dev/null 2>&1 </dev/null &
doctor_of_sleeper
expect_status 0 'doctor of a process with it'
expect_words out "process $sleeper has loaded .*/libhakmem.so" 'doctor of a process with it'

# One whose first thread has ended before others.
cat >"$work/heir.c" <<'END'
#include <pthread.h>
#include <unistd.h>
static void *inherit(void *none) {
    for (;;)
        pause();
    return none;
}
int main(void) {
    pthread_t heir;
    pthread_create(&heir, 0, inherit, 0);
    pthread_exit(0);
}
END
cc -pthread -o "$work/heir" "$work/heir.c" || complain 'heir cannot be made'
"$tree/hakmem" run -- "$work/heir" >/dev/null 2>&1 </dev/null &
heir=$!
tries=0
while ! grep -q '^State:.*zombie' "/proc/$heir/status" && [ $tries -lt 300 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
try "$tree/hakmem" doctor "$heir"
kill "$heir"
expect_status 0 'doctor of a process whose first thread has ended'
expect_words out "process $heir has loaded .*/libhakmem.so" 'doctor of a process whose first thread has ended'

# A name is shown, and not obeyed by the terminal.
escape=$(printf '\033')
mkdir "$work/odd$escape"
cp "$tree/build/standard/libhakmem.so" "$work/odd$escape/"
LD_PRELOAD=$work/odd$escape/libhakmem.so sleep 120 >/dev/null 2>&1 </dev/null &
doctor_of_sleeper
expect_words out "process $sleeper has loaded $work/odd?/libhakmem.so" 'doctor of a process with an odd name'

LD_PRELOAD=$work/serves.so "$tree/hakmem" run -- sleep 120 >/dev/null 2>&1 </dev/null &
doctor_of_sleeper
expect_status 1 'doctor of a process that another allocator serves'
expect_words out "WRONG  $work/serves.so stands before it in LD_PRELOAD" 'doctor of a process that another allocator serves'

try "$tree/hakmem" doctor $$
expect_status 1 'doctor of a process without it'
expect_words out "WRONG  process $$ has not loaded hakmem" 'doctor of a process without it'
try "$tree/hakmem" doctor one
expect_status 2 'doctor of a word'
try "$tree/hakmem" doctor 1 2
expect_status 2 'doctor of two processes'

ended=$(sh -c 'echo $$')
try "$tree/hakmem" doctor "$ended"
expect_status 2 'doctor of a process that is not there'
expect_words err "there is no process $ended" 'doctor of a process that is not there'

# One that has ended and was not waited for: its parent sleeps.
sh -c 'sh -c "echo \$\$ >\"$1\"" sh "$1" & exec sleep 120' sh "$work/zombie" &
parent=$!
tries=0
while ! grep -q '^State:.*zombie' "/proc/$(cat "$work/zombie" 2>/dev/null)/status" 2>/dev/null && [ $tries -lt 300 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
try "$tree/hakmem" doctor "$(cat "$work/zombie")"
kill "$parent"
expect_status 2 'doctor of a process that has ended'
expect_words err 'has ended, and waits for its parent' 'doctor of a process that has ended'

# Where nobody may write, what is built works.
if [ "$(id -u)" -ne 0 ]; then
    chmod a-w "$tree/build"
    try "$tree/hakmem" doctor
    chmod u+w "$tree/build"
    expect_status 0 'doctor of a built tree that cannot be written'
    expect_words out "note   $tree/build cannot be written: what is built there works" 'doctor of a built tree that cannot be written'
fi

rm "$tree/build/standard"/libhakmem.so*
echo 'no library' >"$tree/build/standard/libhakmem.so"
try "$tree/hakmem" doctor
expect_status 1 'doctor of a broken library'
expect_words out 'WRONG  standard does not load' 'doctor of a broken library'

finish
