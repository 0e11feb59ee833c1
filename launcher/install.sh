# Brings what building and testing need, from Debian packages, and says exactly what it installs.
#
# need PACKAGE...      installs what is missing of them; fails when that is impossible
# offer PACKAGE...     the same, but what cannot be installed is only reported (its tests skip)
# need_to_build [V]    what `hakmem build` and `hakmem run` need, recognised by the tools, not by package names
#
# Root installs directly, anybody else through sudo (which asks for a password only on a terminal).

apt() {
    if [ "$(id -u)" -eq 0 ]; then
        DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 "$@" </dev/null
    elif [ -t 0 ]; then
        sudo DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 "$@"
    else
        sudo -n DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 "$@" </dev/null
    fi
}

# Why packages cannot be installed here, or nothing.
why_not_installable() {
    if ! command -v apt-get >/dev/null 2>&1; then
        echo 'this system has no apt-get'
    elif [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null 2>&1; then
        echo 'this is not root and there is no sudo'
    fi
}

is_installed() {
    case $(dpkg-query -W -f '${Status}' "$1" 2>/dev/null) in
        *' installed') return 0 ;;
    esac
    return 1
}

# Sets `missing` to those of the arguments that are not installed.
find_missing() {
    missing=
    for package in "$@"; do
        is_installed "$package" || missing="$missing $package"
    done
    missing=${missing# }
}

# The package lists are fetched at most once a run, and only when an installation fails without.
apt_updated=
apt_update_once() {
    [ -z "$apt_updated" ] || return 1
    apt_updated=yes
    apt update >>"$log" 2>&1
}

apt_install() {
    need_build_root
    log=$build_root/apt.log
    : >"$log"
    say "installing with apt-get: $*"
    apt install --no-install-recommends "$@" >>"$log" 2>&1 && return 0
    apt_update_once && apt install --no-install-recommends "$@" >>"$log" 2>&1
}

need() {
    find_missing "$@"
    [ -n "$missing" ] || return 0
    reason=$(why_not_installable)
    [ -z "$reason" ] || fail "needs the packages: $missing; $reason. Install them, then run this again"
    # shellcheck disable=SC2086 # a list of package names
    if ! apt_install $missing; then
        tail -n 15 "$log" >&2
        fail "could not install: $missing (above: the end of $log). Install them, then run this again"
    fi
}

offer() {
    find_missing "$@"
    [ -n "$missing" ] || return 0
    reason=$(why_not_installable)
    if [ -n "$reason" ]; then
        say "not installed: $missing ($reason): the tests that need them will be skipped"
        return 0
    fi
    # shellcheck disable=SC2086
    apt_install $missing && return 0
    say 'not all of them can be installed together; trying one by one'
    for package in $missing; do
        apt install --no-install-recommends "$package" >>"$log" 2>&1 ||
            say "cannot install $package: the tests that need it will be skipped"
    done
}

c_compiler_works() {
    printf '#include <stdlib.h>\nint main(void) { return 0; }\n' |
        ${CC:-cc} -x c -fsyntax-only - >/dev/null 2>&1
}

need_to_build() {
    packages=
    command -v cmake >/dev/null 2>&1 || packages="$packages cmake"
    command -v ninja >/dev/null 2>&1 || packages="$packages ninja-build"
    if ! c_compiler_works; then
        [ -z "${CC-}" ] || fail "the compiler CC='$CC' does not compile C: correct CC, or unset it to use gcc"
        packages="$packages gcc libc6-dev"
    fi
    [ "${1-}" != musl ] || command -v musl-gcc >/dev/null 2>&1 || packages="$packages musl-tools"
    [ -n "$packages" ] || return 0
    reason=$(why_not_installable)
    [ -z "$reason" ] || fail "building needs:$packages; $reason. Install them, then run this again"
    # shellcheck disable=SC2086
    if ! apt_install $packages; then
        tail -n 15 "$log" >&2
        fail "could not install:$packages (above: the end of $log). Install them, then run this again"
    fi
}
