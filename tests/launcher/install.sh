# What the launcher installs: it says it, asks apt-get for exactly that, and ends with a clear message where it cannot.
# apt-get is a fake that writes down how it was called; no package of this machine is touched.

. "$(dirname "$0")/tree.sh"

tools=$work/tools
mkdir "$tools"
for tool in sh env cat cc gcc as ld ld.bfd ar ranlib objcopy nm strip cmp cp cut date dirname find flock grep head id \
    ln ls mkdir mktemp mv nproc readlink rm sed sort tail touch tr uname wc awk c++ g++ git setarch true; do
    path=$(command -v "$tool") && ln -s "$path" "$tools/$tool"
done
cmake_path=$(command -v cmake)
ninja_path=$(command -v ninja)

# The fake: fails the first `failing` installations, then brings cmake and ninja.
cat >"$tools/apt-get" <<FAKE
#!/bin/sh
echo "\$DEBIAN_FRONTEND: \$*" >>"$work/calls"
case " \$* " in
    *' install '*)
        read -r failing <"$work/failing"
        if [ "\$failing" -gt 0 ]; then
            echo "\$((failing - 1))" >"$work/failing"
            echo 'E: Unable to locate package cmake'
            exit 100
        fi
        case " \$* " in *' cmake '* | *' cmake') ln -sf "$cmake_path" "$tools/cmake" ;; esac
        case " \$* " in *ninja-build*) ln -sf "$ninja_path" "$tools/ninja" ;; esac
        ;;
esac
exit 0
FAKE
cat >"$tools/sudo" <<'FAKE'
#!/bin/sh
[ "$1" != -n ] || shift
exec env "$@"
FAKE
chmod +x "$tools/apt-get" "$tools/sudo"

fresh() {
    rm -rf "$tools/cmake" "$tools/ninja" "$tree/build" "$work/calls"
    echo "$1" >"$work/failing"
}

in_tools() {
    try env PATH="$tools" "$@"
}

fresh 0
in_tools "$tree/hakmem" run -- sh -c 'echo ran'
expect_status 0 'a machine without cmake and ninja'
expect_output ran 'a machine without cmake and ninja'
expect_words err 'installing with apt-get: cmake ninja-build$' 'says what it installs'
cp "$work/calls" "$work/out"
expect_words out '^noninteractive: .*install --no-install-recommends cmake ninja-build$' 'asks for exactly that'
expect_no_words out update 'does not fetch lists without need'

fresh 1
in_tools "$tree/hakmem" run -- sh -c 'echo ran'
expect_output ran 'package lists that are missing or old'
[ "$(grep -c ' update$' "$work/calls")" -eq 1 ] || complain 'the lists are fetched once'

fresh 9
in_tools "$tree/hakmem" run -- sh -c 'echo ran'
expect_status 1 'packages that cannot be installed'
expect_output '' 'packages that cannot be installed'
expect_words err 'could not install: cmake ninja-build' 'packages that cannot be installed'
expect_words err 'Unable to locate package' 'shows why they cannot be installed'

fresh 0
mv "$tools/apt-get" "$work/apt-get"
in_tools "$tree/hakmem" run -- sh -c 'echo ran'
expect_status 1 'a system without apt-get'
expect_words err 'building needs: cmake ninja-build; this system has no apt-get' 'a system without apt-get'
mv "$work/apt-get" "$tools/apt-get"

fresh 0
in_tools env CC=no-such-compiler "$tree/hakmem" run -- sh -c :
expect_status 1 'a CC that is no compiler'
expect_words err "CC='no-such-compiler' does not compile C" 'a CC that is no compiler'

finish
