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

# In a fresh tree its Python is made first; here there is none to make it with.
rm -rf "$tree/build/venv"
mkdir -p "$tree/tests" "$tree/poor"
echo wanted >"$tree/tests/requirements.txt"
for python in python3 python3.14 python3.13 python3.12 python3.11; do
    printf '#!/bin/sh\nexit 1\n' >"$tree/poor/$python"
    chmod +x "$tree/poor/$python"
done
try env PATH="$tree/poor:$PATH" "$tree/hakmem" explain 17
expect_status 1 'explain without Python'
expect_words err 'explain needs these Python packages' 'explain without Python'
expect_no_words err 'not found' 'explain without Python'

finish
