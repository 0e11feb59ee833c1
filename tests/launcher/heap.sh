# hakmem heap and hakmem run --heap, --sample: what they give to the Python of build/venv, and in which environment.

. "$(dirname "$0")/tree.sh"

fake_python LD_PRELOAD PYTHONPATH HAKMEM_HEAP_SAMPLE
lib=$tree/build/standard/libhakmem.so

try env PYTHONPATH=mine "$tree/hakmem" heap 17 --plot a.svg
expect_status 0 'heap'
expect_output "<$tree><heap><17><--plot><a.svg> [] [mine] []" 'the words reach the lab, and nothing is built'
[ ! -e "$lib" ] || complain 'heap needs no library'

try env PYTHONPATH=mine "$tree/hakmem" run --heap 'a file' -- sh -c 'echo "a b"'
expect_status 0 'run --heap'
expect_output "<$tree><heap><--run><$lib><--output><a file><--><sh><-c><echo \"a b\"> [] [mine] [512k]" 'run --heap'
[ -e "$lib" ] || complain 'run --heap builds the library'
try "$tree/hakmem" run --explain --heap=profile --sample=1 -- true
expect_output "<$tree><heap><--run><$lib><--explain><--output><profile><--><true> [] [] [1]" 'with --explain and --sample'

# What was asked for by itself wins over what was inherited, that over what is usual.
try env HAKMEM_HEAP_SAMPLE=2m "$tree/hakmem" run --heap profile -- true
expect_words out '\[2m\]$' 'an inherited HAKMEM_HEAP_SAMPLE'
try env HAKMEM_HEAP_SAMPLE=2m "$tree/hakmem" run --heap profile --sample 4K -- true
expect_words out '\[4K\]$' '--sample and an inherited HAKMEM_HEAP_SAMPLE'
try env HAKMEM_HEAP_SAMPLE=0 "$tree/hakmem" run --heap profile -- true
expect_words out '\[512k\]$' '--heap where the environment takes no samples'
for value in 0 00 0k; do
    try "$tree/hakmem" run --heap profile --sample "$value" -- true
    expect_status 2 "--heap --sample $value"
    expect_words err "sample $value takes none" "--heap --sample $value"
done

# --sample by itself only sets the option: no Python.
rm -r "$tree/build/venv"
try "$tree/hakmem" run --sample 64k -- sh -c 'echo "[$LD_PRELOAD] [$HAKMEM_HEAP_SAMPLE]"'
expect_status 0 'run --sample'
expect_output "[$lib] [64k]" 'run --sample'
try "$tree/hakmem" run -- sh -c 'echo "[${HAKMEM_HEAP_SAMPLE-}]"'
expect_output '[]' 'without --sample nothing is set'

for value in '' k many 5x 12kk -1 1.5m; do
    try "$tree/hakmem" run --sample "$value" -- true
    expect_status 2 "--sample '$value'"
    expect_words err "sample is a number of bytes, as 512k or 1, not '$value'" "--sample '$value'"
done
for value in 1g 1024m 1048576K 1073741824 0 01; do
    try "$tree/hakmem" run --sample "$value" -- sh -c 'echo "[$HAKMEM_HEAP_SAMPLE]"'
    expect_output "[$value]" "--sample $value"
done
for value in 2g 1025m 1048577k 1073741825 99999999999999999999; do
    try "$tree/hakmem" run --sample "$value" -- true
    expect_status 2 "--sample $value"
    expect_words err "sample is at most 1g, not '$value'" "--sample $value"
done
try "$tree/hakmem" run --heap '' -- true
expect_status 2 'no name of a file'
expect_words err 'heap needs the name of a file' 'no name of a file'
for option in --heap --trace; do
    for value in -- --stats -; do
        try "$tree/hakmem" run $option $value -- true
        expect_status 2 "$option $value"
        expect_words err "$option needs the name of a file, not '$value'" "$option $value"
    done
done
try "$tree/hakmem" run --heap
expect_status 2 'no value'
expect_words err 'heap needs a value' 'no value'
try "$tree/hakmem" run --heap profile
expect_status 2 'no command'
expect_words err 'no command given' 'no command'

finish
