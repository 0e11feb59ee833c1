"""The tcmalloc of gperftools: the Debian package libtcmalloc-minimal4, as Debian builds it."""

from __future__ import annotations

from lab.peers.recipe import CannotBeHad, Job, Made, Recipe
from lab.peers.sources import debian

PACKAGE = "libtcmalloc-minimal4"


def make(job: Job) -> Made:
    """Unpacks the package; nothing is installed."""
    unpacked, version = debian(job, PACKAGE)
    found = sorted(unpacked.glob("usr/lib/*/libtcmalloc_minimal.so.4"))
    if not found:
        raise CannotBeHad(f"{PACKAGE} {version} has no libtcmalloc_minimal.so.4")
    return Made(found[0].resolve(), version)


RECIPES = [
    Recipe(
        name="gperftools",
        family="gperftools",
        origin=f"Debian {PACKAGE}",
        version="2.10-1",
        make=make,
        seconds=5,
        tools=("apt-get", "dpkg-deb"),
        packages="(this system has no Debian packages)",
        aliases=("gperftools-tcmalloc",),
    )
]
