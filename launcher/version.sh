# hakmem version: what this tree is, and which libraries lie in it.

hakmem_version() {
    case ${1-} in
        '') ;;
        --help | -h) echo 'usage: hakmem version' && return 0 ;;
        *) refuse "version takes no argument, not '$1': hakmem version" ;;
    esac
    if is_packaged; then
        printf 'hakmem %s (%s)\n' "$installed_version" "$installed_commit"
    else
        tell_version_of_tree
    fi
    for variant in $library_variants; do
        library=$(library_of "$variant")
        [ ! -e "$library" ] || printf '  %-9s %s\n' "$variant" "$library"
    done
}

tell_version_of_tree() {
    version=$(sed -n 's/^project(hakmem VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
    commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null) || commit='unknown commit'
    printf 'hakmem %s (%s)\n' "$version" "$commit"
}
