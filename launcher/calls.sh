# hakmem calls PID: how long the calls of a process on the variant observe take, and which came last.

. "$root/launcher/explain.sh"

hakmem_calls() {
    look_from_outside calls "$@"
}
