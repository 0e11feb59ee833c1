"""jemalloc: the crate tikv-jemalloc-sys carries its sources and configure script; built with jemalloc's defaults."""

from __future__ import annotations

import shutil

from lab.peers.recipe import Job, Made, Recipe
from lab.peers.sources import crate

CRATE, CRATE_VERSION = "tikv-jemalloc-sys", "0.7.1"
VERSION = "5.3.1-0-g81034ce1f1373e37dc865038e1bc8eeecf559ce8"


def make(job: Job) -> Made:
    """The crate's release carries no VERSION file: configure is told the version that the crate states."""
    source = crate(job, CRATE, CRATE_VERSION)
    tree = job.work / "jemalloc"
    shutil.copytree(source / "jemalloc", tree)
    shutil.copy(source / "configure" / "configure", tree / "configure")
    job.run("sh", "configure", f"--with-version={VERSION}", "--disable-doc", "--disable-static", cwd=tree)
    job.run("make", f"-j{job.cores}", "build_lib_shared", cwd=tree)
    return Made(tree / "lib/libjemalloc.so.2", VERSION.split("-")[0])


RECIPES = [
    Recipe(
        name="jemalloc",
        family="jemalloc",
        origin=f"crate {CRATE} {CRATE_VERSION}",
        version="5.3.1",
        make=make,
        seconds=70,
        tools=("cargo", "make", "cc", "c++"),
        packages="cargo make g++",
        aliases=("je",),
    )
]
