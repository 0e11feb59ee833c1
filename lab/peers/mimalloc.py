"""mimalloc, both lines: the crate libmimalloc-sys2 carries their sources; built by mimalloc's own CMake file."""

from __future__ import annotations

import re
from pathlib import Path

from lab.peers.recipe import CannotBeHad, Job, Made, Recipe, cmake_build
from lab.peers.sources import crate

CRATE, CRATE_VERSION = "libmimalloc-sys2", "0.1.65"
OPTIONS = "-DMI_OVERRIDE=ON -DMI_BUILD_SHARED=ON -DMI_BUILD_STATIC=OFF -DMI_BUILD_OBJECT=OFF -DMI_BUILD_TESTS=OFF".split()


def version_of(source: Path) -> str:
    """MI_MALLOC_VERSION is 227 for 2.2.7, or 20407 for 2.4.7, by age."""
    header = (source / "include/mimalloc.h").read_text()
    found = re.search(r"^#define MI_MALLOC_VERSION\s+(\d+)", header, re.M)
    if not found:
        raise CannotBeHad("mimalloc.h states no version")
    digits = found.group(1)
    return ".".join(digits) if len(digits) == 3 else f"{int(digits[0])}.{int(digits[1:3])}.{int(digits[3:])}"


def _make(job: Job, line: str) -> Made:
    source = crate(job, CRATE, CRATE_VERSION) / "c_src" / line
    build = cmake_build(job, source, "mimalloc", *OPTIONS)
    return Made(build / "libmimalloc.so", version_of(source))


def _recipe(line: str, major: int, version: str, aliases: tuple[str, ...]) -> Recipe:
    return Recipe(
        name=f"mimalloc{major}",
        family="mimalloc",
        origin=f"crate {CRATE} {CRATE_VERSION}",
        version=version,
        make=lambda job: _make(job, line),
        seconds=20,
        tools=("cargo", "cmake", "ninja", "cc"),
        packages="cargo cmake ninja-build gcc",
        links=(f"libmimalloc.so.{major}",),
        aliases=aliases,
    )


RECIPES = [
    _recipe("mimalloc3", 3, "3.6.0", ("mimalloc", "mi", "mi3")),
    _recipe("mimalloc", 2, "2.5.2", ("mi2",)),
]
