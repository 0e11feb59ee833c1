"""Interpreters and small tools on the tested library: the same work with and without it, the same output.

    programs.py perl|node|java|lua|jq|openssl

The samples (samples/) are seeded, print digests of what they made and no times, and are chosen to allocate: hashes,
strings, buffers, worker threads, memory outside a collector's heap. The variants other than standard do less of it.
"""

import json
import os
import shutil
import subprocess
import sys

from both import Session, fail, need, sized, skip

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "samples")


def sample(name):
    return os.path.join(SAMPLES, name)


def perl(session):
    session.both([need("perl"), sample("words.pl"), sized("150000", "40000")])


def node(session):
    session.both([need("node"), sample("objects.js"), sized("40000", "8000")])


def lua(session):
    path = need("lua5.4")
    session.both([path, sample("tables.lua"), sized("200000", "50000")])


def java(session):
    path = need("java")
    session.both([path, "-version"], normalise=lambda output: b"", what="java -version")
    compiler = shutil.which("javac") or skip("javac is not installed")
    classes = session.path("classes")
    made = session.run([compiler, "-J-Xmx256m", "-d", classes, sample("Collections.java")], True)
    if made.status:
        plain = session.run([compiler, "-J-Xmx256m", "-d", classes, sample("Collections.java")], False)
        (skip if plain.status else fail)(f"javac: {made.describe()}")
    command = [path, "-Xmx256m", "-Xshare:auto", "-cp", classes, "Collections", sized("4000", "1000")]
    session.both(command, what="java Collections")


def jq(session):
    path = need("jq")
    records = [{"id": i, "name": f"n{i * 7919 % 1000}", "list": list(range(i % 17))} for i in range(sized(20000, 4000))]
    data = json.dumps(records).encode()
    query = "group_by(.name) | map({name: .[0].name, ids: map(.id), sum: (map(.list | add // 0) | add)}) | sort_by(.sum)"
    session.both([path, "-c", query], data=data)


def openssl(session):
    path = need("openssl")
    data = bytes(range(256)) * sized(40000, 4000)
    cipher = ["-aes-256-cbc", "-pbkdf2", "-iter", "1000", "-S", "0123456789abcdef", "-pass", "pass:word"]
    session.both([path, "enc", *cipher], data=data, what="openssl enc")
    session.both([path, "dgst", "-sha512"], data=data, what="openssl dgst")
    key = session.path("key.pem")
    made = subprocess.run([path, "genpkey", "-algorithm", "ed25519", "-out", key], stdin=subprocess.DEVNULL, capture_output=True)
    if made.returncode:
        skip("openssl makes no ed25519 key here")
    session.both([path, "pkey", "-in", key, "-text"], what="openssl pkey")
    subject = ["-subj", "/CN=test", "-set_serial", "7"]
    session.both(
        [path, "req", "-new", "-x509", "-key", key, *subject, "-days", "3650"],
        normalise=lambda output: output[:27],
        what="openssl req",
    )


PROGRAMS = {program.__name__: program for program in (perl, node, java, lua, jq, openssl)}


def main():
    name = sys.argv[1]
    with Session(name) as session:
        PROGRAMS[name](session)
        session.finish()


if __name__ == "__main__":
    main()
