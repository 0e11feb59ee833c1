# What `hakmem peers` does before the lab begins: the Python environment, made once, by one at a time.
#
# On a small copy of the tree, with a Python that only writes down how it was called; nothing is fetched.

. "$(dirname "$0")/../launcher/tree.sh"

bin=$work/bin
mkdir "$bin" "$tree/lab" "$tree/tests"
echo 'rich==1.0  # drawn tables' >"$tree/lab/requirements.txt"
echo 'pytest==2.0' >"$tree/tests/requirements.txt"

# The Python of the environment: `-m pip` fails as often as the file `failing` says, `-m lab` says what it was given.
cat >"$work/python" <<FAKE
#!/bin/sh
case "\$*" in
    *'-m pip install'*)
        echo "pip" >>"$work/calls"
        read -r failing <"$work/failing"
        [ "\$failing" -gt 0 ] || exit 0
        echo "\$((failing - 1))" >"$work/failing"
        echo 'no route to the registry'
        exit 1
        ;;
    *'-m lab'*) printf '<%s>' "\$@" ; echo " from \$PYTHONPATH" ;;
esac
FAKE
# The system's Python: new enough when the file `new` is there; `-m venv DIRECTORY` puts the other one there.
cat >"$bin/python3" <<FAKE
#!/bin/sh
case "\$*" in
    '-m venv '*) echo venv >>"$work/calls"; mkdir -p "\$3/bin"; cp "$work/python" "\$3/bin/python" ;;
    *) [ -e "$work/new" ] ;;
esac
FAKE
printf '#!/bin/sh\nexit 1\n' >"$bin/python3.11"
for name in python3.12 python3.13 python3.14 apt-get; do
    cp "$bin/python3.11" "$bin/$name"
done
for name in cargo make c++ sleep; do
    printf '#!/bin/sh\n' >"$bin/$name"
done
chmod +x "$bin"/* "$work/python"

# fresh FAILURES: no environment, and a registry that is out of reach that many times
fresh() {
    rm -rf "$tree/build/venv"
    : >"$work/calls"
    echo "$1" >"$work/failing"
}

peers() {
    try env PATH="$bin:$PATH" "$tree/hakmem" peers "$@"
}

expect_calls() {
    [ "$(sort "$work/calls" | uniq -c | tr -s ' \n' ' ')" = "$1" ] || complain "$2: calls: $(cat "$work/calls")"
}

touch "$work/new"
fresh 0
peers --no-build 'two words'
expect_status 0 'the first call'
expect_words out "^<-P><-m><lab><peers><--no-build><two words> from $tree\$" 'the words reach the lab'
expect_words err 'installing in build/venv with pip: pytest==2.0 rich==1.0' 'says what it installs'
expect_calls ' 1 pip 1 venv ' 'the first call'
peers
expect_status 0 'the second call'
expect_no_words err . 'the second call is silent'
expect_calls ' 1 pip 1 venv ' 'the second call installs nothing'

echo 'rich==1.1' >"$tree/lab/requirements.txt"
touch "$tree/build/venv/kept"
peers
expect_words err 'rich==1.1' 'a list that has changed'
expect_calls ' 2 pip 1 venv ' 'what is there is completed, not made again'
[ -e "$tree/build/venv/kept" ] || complain 'the environment is kept'

fresh 2
peers
expect_status 0 'a registry that answers at the third attempt'
expect_calls ' 3 pip 1 venv ' 'three attempts'

fresh 3
peers
expect_status 1 'a registry that does not answer'
expect_words err 'no route to the registry' 'the end of the log'
expect_words err 'the lab needs these Python packages' 'a registry that does not answer'
peers
expect_status 0 'the next call tries again'

fresh 0
(env PATH="$bin:$PATH" "$tree/hakmem" peers >/dev/null 2>&1 </dev/null) &
peers
wait
expect_calls ' 1 pip 1 venv ' 'two at the same time'

fresh 0
rm "$work/new"
peers
expect_status 1 'no Python that is new enough'
expect_words err 'Python 3.11 or newer' 'no Python that is new enough'

finish
