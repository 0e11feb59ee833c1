"""Names of functions as people read them."""

from __future__ import annotations

import re
from functools import cache

import cxxfilt

from lab.explain.plain import printable

CLONE = re.compile(r"(\.(cold|part|isra|constprop|lto_priv|llvm)(\.\d+)*)+$")  # what compilers add to parts and copies
RUST_HASH = re.compile(r"::h[0-9a-f]{16}$")
ANONYMOUS = "(anonymous namespace)"
# `operator` and what belongs to it, where brackets are part of the name; `(anonymous namespace)`; any bracket.
PIECE = re.compile(r"\boperator ?(?:\(\)|<=>|<<=?|>>=?|->\*?|<=?|>=?)|\(anonymous namespace\)|[<>()]")
# Behind the parameters of a function: what is local to it, the rest of a lambda, or the name behind a type.
GOES_ON = re.compile(r"(?: const)?(?=::|#)|(?<=\)) (?=\S*[<(])")


@cache
def demangled(symbol: str) -> str:
    """The name in the source, of C++ with its parameters. Versions and what compilers add to clones go."""
    plain = printable(CLONE.sub("", symbol.partition("@")[0]))
    try:
        return RUST_HASH.sub("", cxxfilt.demangle(plain))
    except cxxfilt.Error:
        return plain


@cache
def short(name: str) -> str:
    """Without parameters and what stands in <>; a label in square brackets is no name."""
    if name.startswith("["):
        return name
    kept, depth, at = "", 0, 0
    for piece in PIECE.finditer(name):
        if depth == 0:
            kept += name[at : piece.start()]
        at = piece.end()
        if piece[0] in "<(":
            kept += "<>" if depth == 0 and piece[0] == "<" else ""
            depth += 1
        elif piece[0] in ">)":
            depth -= 1
            if depth == 0 and piece[0] == ")":
                local = GOES_ON.match(name, at)
                if not local:
                    return _without_result(kept)
                at, kept = local.end(), "" if kept == "decltype" else kept
        elif depth == 0:
            kept += piece[0]
    return name if depth else _without_result(kept + name[at:])


def _without_result(name: str) -> str:
    """Templates are demangled with the type that they return, before a blank."""
    head, word, tail = name.partition("operator")
    if word:
        return head.rpartition(" ")[2] + word + tail
    place = name.rfind(" ", 0, name.find(ANONYMOUS)) if ANONYMOUS in name else name.rfind(" ")
    return name[place + 1 :]
