"""The shelf: build/peers, where finished peers lie as lib<name>.so with a lib<name>.json beside each.

The note beside a library says what it is and carries its SHA-256: a library without a note, or one that the note does
not fit, counts as not there. Both are made under other names and moved into place, so that a reader sees the old one
or the new one. One writer at a time holds the lock. PEERS_DIR in the environment puts the shelf elsewhere.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from lab.model import Allocator
from lab.peers.recipe import Made, Recipe

ROOT = Path(__file__).resolve().parents[2]


def directory() -> Path:
    """Where peers lie; it may not exist yet."""
    return Path(os.environ.get("PEERS_DIR") or ROOT / "build/peers").absolute()


@contextmanager
def locked(waiting: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """Holds the shelf's lock and gives its directory; calls `waiting` once when somebody else has it."""
    shelf = directory()
    shelf.mkdir(parents=True, exist_ok=True)
    with open(shelf / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield shelf


def workshop() -> Path:
    """Where peers are made; emptied by `sweep`."""
    work = directory() / "work"
    work.mkdir(parents=True, exist_ok=True)
    return work


def sweep() -> None:
    """Removes what a run that was killed left behind. Only for who holds the lock."""
    shutil.rmtree(directory() / "work", ignore_errors=True)


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def note_of(recipe: Recipe) -> dict[str, Any] | None:
    """The note of a peer that lies on the shelf, whole and made from the recipe's pinned source; else None."""
    library = directory() / recipe.library
    try:
        note = json.loads(library.with_suffix(".json").read_text())
        fits = note["sha256"] == checksum(library) and note["origin"] == recipe.origin
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return note if fits else None


def read(recipe: Recipe) -> Allocator | None:
    """The peer as an allocator, if it lies on the shelf."""
    note = note_of(recipe)
    if note is None:
        return None
    path = str(directory() / recipe.library)
    return Allocator(recipe.name, path, str(note.get("version", "")), recipe.origin, recipe.family, dict(recipe.env))


def put(recipe: Recipe, made: Made) -> None:
    """Moves what a recipe made onto the shelf, the note last."""
    library = directory() / recipe.library
    unfinished = library.with_suffix(".new")
    shutil.copyfile(made.library, unfinished)
    unfinished.chmod(0o755)
    note = {
        "name": recipe.name,
        "family": recipe.family,
        "version": made.version,
        "origin": recipe.origin,
        "library": recipe.library,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "sha256": checksum(unfinished),
        "env": dict(recipe.env),
    }
    unfinished.replace(library)
    for name in recipe.links:
        _link(library.parent / name, library.name)
    unfinished.write_text(json.dumps(note, indent=2) + "\n")
    unfinished.replace(library.with_suffix(".json"))


def _link(link: Path, target: str) -> None:
    unfinished = link.with_name(f"{link.name}.new")
    unfinished.unlink(missing_ok=True)
    unfinished.symlink_to(target)
    unfinished.replace(link)
