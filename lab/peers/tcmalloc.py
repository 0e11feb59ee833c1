"""Google's tcmalloc: the crate libtcmalloc-sys carries its sources and the part of Abseil that it needs.

Its own build system is Bazel. The crate's build.rs names the sources that make up the allocator; here they are
compiled with the same options, except that tcmalloc.cc is compiled with its malloc override (the crate leaves it
out). Its per-CPU caches need the process's restartable sequences for themselves, which glibc 2.35 and newer take
unless GLIBC_TUNABLES says otherwise; without that tcmalloc is half as fast, so it is measured with it.
"""

from __future__ import annotations

import re
from pathlib import Path

from lab.peers.recipe import CannotBeHad, Job, Made, Recipe
from lab.peers.sources import crate

CRATE, CRATE_VERSION = "libtcmalloc-sys", "0.1.14"
VERSION = "2025-06-16"
SOURCE_WORD = re.compile(r'"(c_src/[\w./-]+\.(?:cc|S))"')
FLAGS = "-O2 -DNDEBUG -fPIC -std=c++17 -DNOMINMAX -DTCMALLOC_INTERNAL_8K_PAGES -w"


def sources_of(build_script: str) -> list[str]:
    """The source files that the crate's build.rs names, its own bridges replaced by the override."""
    named = [path for path in SOURCE_WORD.findall(build_script) if "_bridge." not in path]
    if not named:
        raise CannotBeHad("build.rs of the crate names no sources")
    return [*named, "c_src/tcmalloc/tcmalloc/tcmalloc.cc"]


def ninja_file(root: Path, sources: list[str]) -> str:
    """What ninja is to do: each source to an object, all objects to libtcmalloc.so."""
    flags = f"{FLAGS} -I{root}/c_src/abseil-cpp -I{root}/c_src/tcmalloc"
    objects = [f"{number}.o" for number in range(len(sources))]
    rows = [f"build {name}: compile {root}/{source}" for name, source in zip(objects, sources, strict=True)]
    return "\n".join([
        f"rule compile\n  command = c++ {flags} -c $in -o $out",
        "rule link\n  command = c++ -shared -o $out $in -pthread",
        *rows,
        f"build libtcmalloc.so: link {' '.join(objects)}",
        "",
    ])


def make(job: Job) -> Made:
    """About 160 small C++ files: the longest of all recipes."""
    root = crate(job, CRATE, CRATE_VERSION)
    (job.work / "build.ninja").write_text(ninja_file(root, sources_of((root / "build.rs").read_text())))
    job.run("ninja", "-j", str(job.cores), "libtcmalloc.so")
    return Made(job.work / "libtcmalloc.so", VERSION)


RECIPES = [
    Recipe(
        name="tcmalloc",
        family="tcmalloc",
        origin=f"crate {CRATE} {CRATE_VERSION}",
        version=VERSION,
        make=make,
        seconds=150,
        tools=("cargo", "ninja", "c++"),
        packages="cargo ninja-build g++",
        env={"GLIBC_TUNABLES": "glibc.pthread.rseq=0"},
        aliases=("google-tcmalloc",),
    )
]
