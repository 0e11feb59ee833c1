# hakmem heap PID: which call paths hold the memory of a process that takes heap samples.

. "$root/launcher/explain.sh"

hakmem_heap() {
    look_from_outside heap "$@"
}
