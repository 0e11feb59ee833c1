# hakmem calls and hakmem run --calls, --trace, --events: what they give to the Python of build/venv, and in which environment.

. "$(dirname "$0")/tree.sh"

fake_python LD_PRELOAD HAKMEM_LATENCY HAKMEM_TRACE HAKMEM_HEAP_SAMPLE
lib=$tree/build/observe/libhakmem-observe.so

try "$tree/hakmem" calls 17 --plot a.svg
expect_status 0 'calls'
expect_output "<$tree><calls><17><--plot><a.svg> [] [] [] []" 'the words reach the lab, and nothing is built'
[ ! -e "$lib" ] || complain 'calls needs no library'

try "$tree/hakmem" run --calls -- sh -c 'echo "a b"'
expect_status 0 'run --calls'
expect_output "<$tree><calls><--run><$lib><--><sh><-c><echo \"a b\"> [] [1] [] []" 'run --calls'
[ -e "$lib" ] || complain 'run --calls builds the variant observe'
[ ! -e "$tree/build/standard" ] || complain 'run --calls builds no other variant'

try "$tree/hakmem" run --trace 'a file' -- true
expect_output "<$tree><calls><--run><$lib><--trace><a file><--><true> [] [] [65536] []" 'run --trace times nothing'
try "$tree/hakmem" run --trace=file --events 16777216 --variant observe -- true
expect_output "<$tree><calls><--run><$lib><--trace><file><--><true> [] [] [16777216] []" 'run --trace --events'
try env HAKMEM_TRACE=7 HAKMEM_LATENCY=1 "$tree/hakmem" run --trace file -- true
expect_output "<$tree><calls><--run><$lib><--trace><file><--><true> [] [1] [65536] []" 'what was inherited'

# All reports in one hold.
try "$tree/hakmem" run --heap 'a profile' --trace 'a file' --calls --explain --events=9 -- true
expect_output "<$tree><calls><--run><$lib><--explain><--heap><a profile><--trace><a file><--><true> [] [1] [9] [512k]" 'all together'

for variant in standard fast hardened check; do
    for option in --calls --trace=file; do
        try "$tree/hakmem" run "$option" --variant "$variant" -- true
        expect_status 2 "$option --variant $variant"
        expect_words err "take the variant observe, not $variant: leave --variant out" "$option --variant $variant"
    done
done
for value in '' 0 00 many 5k -1 1.5 16777217 99999999999999999999; do
    try "$tree/hakmem" run --trace file --events "$value" -- true
    expect_status 2 "--events '$value'"
    expect_words err "events is a number of calls of each thread, from 1 to 16777216, not '$value'" "--events '$value'"
done
try "$tree/hakmem" run --events 5 --calls -- true
expect_status 2 '--events without --trace'
expect_words err 'give both' '--events without --trace'
try "$tree/hakmem" run --trace '' -- true
expect_status 2 'no name of a file'
expect_words err 'trace needs the name of a file' 'no name of a file'
try "$tree/hakmem" run --calls
expect_status 2 'no command'
expect_words err 'no command given' 'no command'

finish
