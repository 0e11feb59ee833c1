"""What is made once and then used: one process makes it, others wait, and nothing is written where it is there already.

So a tree that is built can be measured from a place that cannot be written.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterable
from pathlib import Path


def made(path: Path, is_ready: Callable[[], bool], make: Callable[[], None]) -> Path:
    """The path; made first, under the lock that lies beside it, unless it is ready."""
    if not is_ready():
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path.parent / f"{path.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not is_ready():
                make()
    return path


def is_newer(path: Path, sources: Iterable[Path]) -> bool:
    """Whether it is there, and no source was changed since."""
    return path.exists() and all(source.stat().st_mtime <= path.stat().st_mtime for source in sources)


def tree(root: Path) -> list[Path]:
    """The folder and all that lies below it, other folders too: one of them is newer when a file of it was deleted."""
    return [root, *root.rglob("*")]
