#!/usr/bin/env python3
"""Runs every misuse program under the library and compares what the library says with one table.

A program prints the address that it misuses, misuses it, and if it lives on proves that the heap is intact.
Intact afterwards is misuse P1; said once is misuse P2.
"says" is the one line that the library writes about it, word for word. hardened stops the process with this line as
its last words; standard and observe say it once and go on; fast goes on without a word.
"""

import os
import resource
import signal
import subprocess
import sys

DOUBLE_FREE = "hakmem: double free of {address}"
INSIDE = "hakmem: free of {address}, which is inside a block"
FOREIGN = "hakmem: free of {address}, which is not a block of hakmem"
GONE = "hakmem: free of {address}, which is not a block of hakmem, or not any more: was it freed before?"
NOTHING = None

TABLE = {
    "double_free": DOUBLE_FREE,
    "double_free_remote": DOUBLE_FREE,
    "double_free_across": DOUBLE_FREE,
    "double_free_marked": DOUBLE_FREE,
    "double_free_at_hand": DOUBLE_FREE,
    # What was a large block is nobody's memory after the first free.
    "double_free_run": GONE,
    "double_free_mapping": GONE,
    "free_inside": INSIDE,
    "free_inside_remote": INSIDE,
    "free_inside_run": INSIDE,
    "free_inside_marked": INSIDE,
    "free_inside_at_hand": INSIDE,
    "free_inside_mapping": INSIDE,
    "free_second_byte": INSIDE,
    "free_never_allocated_remote": INSIDE,
    # Only the first 64 KiB of a mapping are known by their address.
    "free_far_inside_mapping": GONE,
    "free_stack": FOREIGN,
    "free_static": FOREIGN,
    "free_mmap": FOREIGN,
    "free_libc": FOREIGN,
    "free_wild": FOREIGN,
    "free_foreign_often": FOREIGN,
    "realloc_foreign": FOREIGN,
    "realloc_inside": INSIDE,
    "realloc_never_allocated": NOTHING,
    "usable_size_foreign": NOTHING,
}
# What only the variant that verifies notices.
VERIFIED = {
    "realloc_never_allocated": INSIDE,
}

SECONDS = 120


def run(program):
    """The exit status, standard output and standard error of one program under the library."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HAKMEM_")}
    environment["LD_PRELOAD"] = os.environ["TESTED_LIB"]
    done = subprocess.run(
        [os.path.join(os.environ["TESTED_PROGRAMS"], "misuse_" + program)],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        timeout=SECONDS, check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


def expected(program, variant, address):
    """The same three things as the table has them."""
    says = {**TABLE, **VERIFIED}[program] if variant == "hardened" else TABLE[program]
    words = [says.format(address=address)] if says else []
    if variant == "hardened" and says:
        return -signal.SIGABRT, [address], words
    return 0, [address, "intact"], [] if variant == "fast" else words


def main():
    variant = os.environ["TESTED_VARIANT"]
    failed = 0
    for program in sorted(TABLE):
        found = run(program)
        address = found[1][0] if found[1] else "0x0"
        wanted = expected(program, variant, address)
        if found == wanted:
            print(f"ok      {program}")
            continue
        failed += 1
        print(f"FAILED  {program}")
        for name, want, got in zip(("exit status", "output", "words"), wanted, found):
            if want != got:
                print(f"        {name}: expected {want}, found {got}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
