# What is otherwise where hakmem is installed (cmake/install_command.cmake): there is no source, nothing is built, and what Python needs lies in
# the user's cache.
#
# The file `installed` beside `hakmem` sets installed_version, installed_commit, installed_libraries and installed_documents: where these lie,
# from there, so that what is installed may be moved.

installed_libraries=
documents=docs

is_packaged() {
    [ -n "$installed_libraries" ]
}

if [ -f "$root/installed" ]; then
    . "$root/installed"
    case $installed_libraries in
        /*) ;;
        *) installed_libraries=$(CDPATH='' cd -- "$root/$installed_libraries" 2>/dev/null && pwd -P) ||
            fail "the libraries of this hakmem are not where $root/installed says: install it again" ;;
    esac
    case $installed_documents in
        /*) documents=$installed_documents ;;
        *) documents=$root/$installed_documents ;;
    esac
    shortest=$(CDPATH='' cd -- "$documents" 2>/dev/null && pwd -P) && documents=$shortest # it may have been left out
    cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
    case $cache in
        /*) build_root=$cache/hakmem ;;
        '') build_root= ;; # as where the system starts a service: most of it needs none
        *) refuse "XDG_CACHE_HOME must begin with /, not be '$cache'" ;;
    esac
    elsewhere='set XDG_CACHE_HOME to a place that is'
fi

# refuse_what_is_not_installed COMMAND [WORD]: those that need the source, also where help is asked for one of them.
refuse_what_is_not_installed() {
    [ "$1" != help ] || shift
    # shellcheck disable=SC2086 # a list
    ! is_one_of "${1-}" $of_the_tree ||
        refuse "hakmem $1 works in hakmem's source tree: what is installed has $(printf '%s' "$commands" | sed 's/ /, /g'), help"
}

# A variant is a package of its own.
need_installed() {
    [ -e "$(library_of "$1")" ] ||
        fail "the variant $1 is not installed: there is no $(library_of "$1"); install it (the package hakmem-$1), or leave --variant out"
}

# where PATH: as it is told: of a source tree from there.
where() {
    printf '%s\n' "${1#"$root/"}"
}
