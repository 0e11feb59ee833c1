"""Where the sources of peers come from: crates, fetched by cargo, and Debian packages, fetched by apt-get.

Both are asked for by name through their own clients, which check what they fetch. Nothing is installed in the system
and no administrator is needed: a crate is unpacked where cargo keeps crates, a package in the working directory.
"""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

from lab.peers.recipe import CannotBeHad, Job

MANIFEST = """\
[package]
name = "hakmem-peer"
version = "0.0.0"
edition = "2021"
[lib]
path = "empty.rs"
[dependencies]
{crate} = "={version}"
[workspace]
"""


def crate(job: Job, name: str, version: str) -> Path:
    """The directory with the sources of exactly this version of a crate. What cargo has already is not fetched again."""
    project = job.work / "crate"
    project.mkdir()
    (project / "Cargo.toml").write_text(MANIFEST.format(crate=name, version=version))
    (project / "empty.rs").touch()
    target = f"{platform.machine()}-unknown-linux-gnu"
    command = ("cargo", "metadata", "--quiet", "--format-version", "1", "--filter-platform", target)
    try:
        answer = job.run(*command, "--offline", cwd=project)
    except CannotBeHad:
        answer = job.retry(*command, cwd=project)
    for package in json.loads(answer)["packages"]:
        if package["name"] == name:
            return Path(package["manifest_path"]).parent
    raise CannotBeHad(f"cargo does not know where it put {name} {version}")


def debian(job: Job, package: str) -> tuple[Path, str]:
    """(the directory a Debian package is unpacked in, its version)."""
    try:
        job.run("apt-get", "download", package)
    except CannotBeHad:
        if os.geteuid() == 0:
            job.retry("apt-get", "-q", "update")
        job.retry("apt-get", "download", package)
    files = sorted(job.work.glob(f"{package}_*.deb"))
    if not files:
        raise CannotBeHad(f"apt-get did not fetch {package}")
    unpacked = job.work / "package"
    job.run("dpkg-deb", "-x", files[-1], unpacked)
    return unpacked, job.run("dpkg-deb", "-f", files[-1], "Version").strip()
