# boot.sh [NAME=VALUE]... PROGRAM [ARGUMENT]...: runs a test program, with the library preloaded, under another kernel.
#
# The kernel is the one that kernel.sh found, in an emulated machine of $GUEST_CPUS processors (2) and 1 GiB. Its only file
# system is made here: init.sh, busybox, the library, the program, and what these need. What the program says is this
# script's output, its status this script's status. When it ended badly, what the kernel said comes first.

set -u
here=$(dirname "$0")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
root=$work/root

skip() {
    echo "SKIP: $*"
    exit 77
}

# bring FILE [PLACE]: into the guest, with the libraries that it is linked with.
bring() {
    place=$root${2-$1}
    mkdir -p "${place%/*}"
    cp -L "$1" "$place" || exit 1
    for library in $(ldd "$1" 2>/dev/null | grep -o '/[^ ]*'); do
        [ -e "$root$library" ] || bring "$library"
    done
}

make_image() {
    mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/tmp"
    bring "$(command -v busybox)" /bin/busybox
    bring "$TESTED_LIB" /tests/libhakmem.so
    cp "$here/init.sh" "$root/init"
    chmod +x "$root/init"
    (cd "$root" && find . | busybox cpio -o -H newc) >"$work/image" 2>"$work/cpio" || {
        cat "$work/cpio"
        exit 1
    }
}

# The words of the command, one a line; the program's own by its name in the guest.
note_command() {
    for word in "$@"; do
        if [ -z "${program-}" ] && [ -x "$word" ]; then
            program=/tests/${word##*/}
            bring "$word" "$program"
            word=$program
        fi
        printf '%s\n' "$word" >>"$root/command"
    done
}

# Without KVM: an emulated processor is the same everywhere, and there are machines on which a guest of a guest hangs. Without
# a check of the timer: on a busy machine it is late, and the kernel gives up.
boot_once() {
    : >"$work/output"
    timeout -k 5 240 qemu-system-x86_64 -accel tcg -cpu max -smp "${GUEST_CPUS-2}" -m 1024 -nodefaults -display none \
        -no-reboot -kernel "$kernel" -initrd "$work/image" -serial "file:$work/console" -serial "file:$work/output" \
        -append 'console=ttyS0 quiet oops=panic panic=-1 no_timer_check' </dev/null >"$work/qemu" 2>&1 &
    guest=$!
    seconds=0
    while [ ! -s "$work/output" ] && [ "$seconds" -lt 60 ] && kill -0 "$guest" 2>/dev/null; do
        sleep 1
        seconds=$((seconds + 1))
    done
    [ -s "$work/output" ] || kill "$guest" 2>/dev/null
    wait "$guest"
    ended=$?
}

# A kernel that changes its own code while it starts (6.12) may fall over in an emulator (7.2), or (6.1) never come up, where
# that takes three to ten seconds: as long as the guest's first process has said nothing, nothing was tested.
boot() {
    for attempt in 1 2 3 4; do
        boot_once
        [ ! -s "$work/output" ] || return 0
    done
}

kernel=${TESTED_KERNEL:-$TESTED_BUILD_DIR/kernel/vmlinuz}
[ -r "$kernel" ] || skip 'no kernel to boot: the test kernel_to_boot says why'
for tool in qemu-system-x86_64 busybox; do
    command -v "$tool" >/dev/null || skip "no $tool (Debian: $(tr '\n' ' ' <"$here/packages.txt"))"
done
mkdir "$root"
note_command "$@"
make_image
boot
tr -d '\r' <"$work/output" >"$work/said"
status=$(sed -n 's/^exit status \([0-9]*\)$/\1/p' "$work/said" | tail -n 1)
if [ "${status:-1}" -ne 0 ] && [ "${status:-1}" -ne 77 ]; then
    echo "===== the kernel's last words, the emulator's, its status, $ended (124: time was over); boot $attempt:"
    tr -d '\r' <"$work/console" | tail -n 40
    cat "$work/qemu"
    echo '===== what the program said:'
fi
sed '/^exit status [0-9]*$/d' "$work/said"
exit "${status:-1}"
