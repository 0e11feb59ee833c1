"""rpmalloc: the crate rpmalloc-sys carries its sources, version 1.4.3 and a few commits; no crate carries 2.0.

Its own build script makes a library for preloading from one file with two definitions and these release options.
"""

from __future__ import annotations

import re

from lab.peers.recipe import CannotBeHad, Job, Made, Recipe
from lab.peers.sources import crate

CRATE, CRATE_VERSION = "rpmalloc-sys", "0.2.3"
COMMIT = "b097fd0"
FLAGS = "-std=c11 -O3 -funroll-loops -fstrict-aliasing -DNDEBUG -D_GNU_SOURCE=1 -fPIC -w".split()
OVERRIDE = "-DENABLE_PRELOAD=1 -DENABLE_OVERRIDE=1".split()


def make(job: Job) -> Made:
    """One C file."""
    source = crate(job, CRATE, CRATE_VERSION) / "rpmalloc"
    newest = re.match(r"\s*(\d+\.\d+\.\d+)", (source / "CHANGELOG").read_text())
    if not newest:
        raise CannotBeHad("the CHANGELOG of rpmalloc states no version")
    library = job.work / "librpmalloc.so"
    job.run("cc", *FLAGS, *OVERRIDE, "-shared", "-o", library, source / "rpmalloc/rpmalloc.c", "-pthread")
    return Made(library, f"{newest.group(1)}+{COMMIT}")


RECIPES = [
    Recipe(
        name="rpmalloc",
        family="rpmalloc",
        origin=f"crate {CRATE} {CRATE_VERSION}",
        version=f"1.4.3+{COMMIT}",
        make=make,
        seconds=10,
        tools=("cargo", "cc"),
        packages="cargo gcc",
        aliases=("rp",),
    )
]
