"""What another process, or its files, call themselves: it may hold anything, also what a terminal takes for orders."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with every letter that is not to be seen written as \\x1b or \\u202e; white space becomes a blank."""
    return "".join(map(_seen, " ".join(text.split())))


def _seen(letter: str) -> str:
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode()
