"""Compilers on the tested library: what they make must be the same to the last bit.

    compilers.py g++|cargo

g++ -O2 compiles a file full of templates. cargo builds a small crate of two packages without any dependency from
outside, offline, in the same directory each time; both of them run rustc and the linker below them.
"""

import hashlib
import os
import shutil
import sys

from both import Session, need, sized

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "samples")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def gxx(session):
    source = os.path.join(SAMPLES, "templates.cpp")
    made = session.path("templates.o")
    digests = []

    def note_and_remove():
        if os.path.exists(made):
            digests.append(digest(made))
            os.remove(made)

    level = sized("-O2", "-O1")
    session.both([need("g++"), "-std=c++17", level, "-c", "-o", made, source], before_each=note_and_remove)
    note_and_remove()
    session.same("the object file", *digests)


def rust_environment(session):
    """rustup's proxies find the toolchain in the real home; everything else is temporary."""
    home = os.environ.get("RUSTUP_HOME") or os.path.join(os.path.expanduser("~"), ".rustup")
    environment = {"CARGO_HOME": session.path("cargo"), "CARGO_BUILD_JOBS": "2", "CARGO_INCREMENTAL": "0"}
    if os.path.isdir(home):
        environment["RUSTUP_HOME"] = home
    if "RUSTUP_TOOLCHAIN" in os.environ:
        environment["RUSTUP_TOOLCHAIN"] = os.environ["RUSTUP_TOOLCHAIN"]
    return environment


def cargo(session):
    path = need("cargo")
    shutil.copytree(os.path.join(SAMPLES, "crate"), session.path("crate"))
    target = session.path("crate", "target")
    profile = sized("release", "debug")
    program = os.path.join(target, profile, "words")
    made = []

    def note_and_remove():
        if os.path.exists(program):
            made.append((digest(program), session.run([program, "20000"], True).output))
        shutil.rmtree(target, ignore_errors=True)

    command = [path, "build", "--offline", "--quiet", *(["--release"] if profile == "release" else [])]
    session.both(
        command,
        cwd=session.path("crate"),
        environment=rust_environment(session),
        before_each=note_and_remove,
    )
    note_and_remove()
    session.same("the program that cargo built", *made)


COMPILERS = {"g++": gxx, "cargo": cargo}


def main():
    with Session(sys.argv[1]) as session:
        COMPILERS[sys.argv[1]](session)
        session.finish()


if __name__ == "__main__":
    main()
