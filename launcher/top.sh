# hakmem top PID: what hakmem explain says, again and again.

. "$root/launcher/explain.sh"

hakmem_top() {
    look_from_outside top "$@"
}
