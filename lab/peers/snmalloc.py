"""snmalloc: the crate snmalloc-sys carries its sources; its own CMake file builds the shim that is preloaded."""

from __future__ import annotations

from lab.peers.recipe import Job, Made, Recipe, cmake_build
from lab.peers.sources import crate

CRATE, VERSION = "snmalloc-sys", "0.7.6"


def make(job: Job) -> Made:
    """The crate's version is snmalloc's own; its sources state none."""
    source = crate(job, CRATE, VERSION) / "upstream"
    build = cmake_build(job, source, "snmallocshim", "-DSNMALLOC_BUILD_TESTING=OFF")
    return Made(build / "libsnmallocshim.so", VERSION)


RECIPES = [
    Recipe(
        name="snmalloc",
        family="snmalloc",
        origin=f"crate {CRATE} {VERSION}",
        version=VERSION,
        make=make,
        seconds=30,
        tools=("cargo", "cmake", "ninja", "c++"),
        packages="cargo cmake ninja-build g++",
        aliases=("sn",),
    )
]
