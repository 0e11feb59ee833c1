# The Python environment of the tests and of the lab: build/venv (where hakmem is installed, in the user's cache), with the
# packages of tests/requirements.txt and lab/requirements.txt.
#
# python_is_ready      is it there, made from the lists as they are now
# prepare_python       makes or completes it, saying what it installs; to be called inside with_build_lock.
#                      Fails with the last words of Python when that is impossible here.

venv=$build_root/venv

python_lists() {
    for list in "$root/tests/requirements.txt" "$root/lab/requirements.txt"; do
        [ ! -s "$list" ] || sed 's/[[:space:]]*#.*//; /^$/d' "$list"
    done | sort -u
}

# Why what is there is not for this user, or nothing.
why_not_this_python() {
    [ ! -e "$venv/installed.txt" ] || [ -x "$venv/bin/python" ] ||
        echo "$venv was made by another user, and its Python ($(readlink "$venv/bin/python")) cannot be run by this one: $elsewhere, or remove it"
}

python_is_ready() {
    [ -n "$(python_lists)" ] || return 0
    [ -n "$build_root" ] || return 1
    reason=$(why_not_this_python)
    [ -z "$reason" ] || fail "$reason"
    [ -x "$venv/bin/python" ] && [ "$(python_lists)" = "$(cat "$venv/installed.txt" 2>/dev/null)" ]
}

# The first Python that is new enough and can make environments, or nothing.
find_python() {
    for python in python3 python3.14 python3.13 python3.12 python3.11; do
        "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null </dev/null &&
            command -v "$python" && return 0
    done
    return 1
}

# noted COMMAND...: what it says goes to the log, and is kept in `words`: on a disk that is full the log has nothing.
noted() {
    words=$("$@" 2>&1 </dev/null)
    status=$?
    [ -z "$words" ] || printf '%s\n' "$words" >>"$build_root/venv.log"
    return $status
} 2>/dev/null

# The line that says that the disk, or what the user may have of it, is full (ENOSPC, EDQUOT); fails when there is none.
fullness() {
    printf '%s\n' "$words" | grep -m 1 -e '\[Errno 28\]' -e '\[Errno 122\]'
}

# The registry may be out of reach for a moment: three attempts.
install_python_packages() {
    for pause in 2 8 0; do
        noted "$venv/bin/python" -m pip install -q --disable-pip-version-check -r "$venv/wanted.txt" && return 0
        ! fullness >/dev/null || return 1
        [ "$pause" -eq 0 ] || sleep "$pause"
    done
    return 1
}

# In two steps, for venv says of what keeps pip from being installed only that something does.
make_venv() {
    "$venv/bin/python" -c 'import pip' 2>/dev/null </dev/null && return 0
    python=$(find_python) || { [ -n "$(why_not_installable)" ] || apt_install python3 python3-venv; }
    python=$(find_python) || {
        noted echo 'no Python 3.11 or newer with the module venv (Debian: python3 python3-venv)'
        return 1
    }
    rm -rf "$venv"
    noted "$python" -m venv "$venv" --without-pip && noted "$venv/bin/python" -I -m ensurepip --upgrade --default-pip
}

prepare_python() {
    python_is_ready && return 0
    words=
    : >"$build_root/venv.log"
    say "installing in $(where "$venv") with pip: $(python_lists | tr '\n' ' ')"
    make_venv && python_lists >"$venv/wanted.txt" && install_python_packages && mv "$venv/wanted.txt" "$venv/installed.txt" &&
        return 0
    if fullness >&2; then
        rm -rf "$venv"
        say "what was begun in $(where "$venv") is removed: make room for some 370 MB"
    else
        printf '%s\n' "$words" | tail -n 5 >&2
    fi
    return 1
}
