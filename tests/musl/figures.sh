# scripts/musl.sh: a row of what is asked for, and what it refuses.

set -u
script=$TESTED_SOURCE_DIR/scripts/musl.sh

fail() {
    echo "$*"
    exit 1
}

found=$(ROWS=tree ROUNDS=1 "$script" "again=$TESTED_LIB" 2>&1) || fail "it fails: $found"
for line in '^workload  *hakmem: speed  *again: speed  *hakmem: peak  *again: peak$' \
    '^tree  *[0-9.][0-9.]*  *[0-9.][0-9.]*  *[0-9.][0-9.]*  *[0-9.][0-9.]*$' '^geometric mean  *[0-9.]'; do
    printf '%s\n' "$found" | grep -q "$line" || fail "no line '$line' in: $found"
done
found=$(ROWS=no-such-row "$script" 2>&1) && fail "another row: $found"
case $found in
    *"ROWS: there is no 'no-such-row'; there are aligned, "*) ;;
    *) fail "another row: $found" ;;
esac
found=$(ROWS=tree "$script" no.so 2>&1) && fail "another library: $found"
case $found in
    *'no such library: no.so'*) ;;
    *) fail "another library: $found" ;;
esac
