"""What is resident and not the allocator's: by the kind of its mapping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lab.explain.smaps import Mapping

KINDS = {
    "files": "programs, libraries and other files",
    "stacks": "stacks",
    "brk": "the heap of brk (another allocator)",
    "shared": "shared memory",
    "anonymous": "other anonymous memory (mmap of the program or of its libraries)",
}

OURS = "ours"  # a mapping that has our name: of it nothing should be left


def kind_of(mapping: Mapping, stack_pointers: Sequence[int]) -> str:
    """One of KINDS, or OURS."""
    if mapping.name.startswith("[anon:hakmem"):
        return OURS
    if mapping.name == "[stack]" or any(mapping.start <= pointer < mapping.end for pointer in stack_pointers):
        return "stacks"
    if mapping.name == "[heap]":
        return "brk"
    if mapping.name.startswith(("/dev/shm", "/dev/zero", "/SYSV", "/memfd:", "[anon_shmem")):
        return "shared"
    return "files" if mapping.of_file or mapping.name.startswith("[v") else "anonymous"


def stack_pointers(pid: int) -> list[int]:
    """Where the threads' stacks are at the moment, as far as the kernel tells: not of a thread that runs."""
    pointers = []
    for task in Path(f"/proc/{pid}/task").glob("*/syscall"):
        try:
            words = task.read_text().split()
        except OSError:
            continue
        if len(words) >= 3:
            pointers.append(int(words[-2], 16))
    return pointers


def rest(mappings: Sequence[Mapping], explained: Counter[int], pointers: Sequence[int]) -> Counter[str]:
    """For each kind the bytes that the kernel counts and nothing above explains."""
    left: Counter[str] = Counter()
    for number, mapping in enumerate(mappings):
        more = mapping.rss - explained[number]
        if more > 0:
            left[kind_of(mapping, pointers)] += more
    return left
