"""Runs holder in every way it can be linked, explains it, and compares the rows with what holder says that it did.

The sum must be within 2 % of the kernel's Rss, each row within what the program cannot know: magazines hold a few
blocks of every class, an empty slab of each is kept, and pages are whole.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from lab.explain import layout, smaps, symbol
from lab.explain.memory import Memory
from lab.explain.process import STATE, stat, state
from lab.tests.outside import LAB, LIBRARY, PROGRAMS, check_refusals, directory, environment, refused, run_all, speaking

KIB, MIB = 1 << 10, 1 << 20
HARDENED = os.environ["TESTED_VARIANT"] == "hardened"
EXPLAIN = [*LAB, "explain"]
KEEP = {"HAKMEM_PURGE_DELAY": "0", "HAKMEM_HUGE_PAGES": "0"}  # what is free stays: nothing changes while we look


def holder(mode: str, program: Path, preload: bool = True, **options: str) -> AbstractContextManager[Any]:
    """A holder that has said everything: its process id and what it said."""
    return speaking([program, mode], environment(preload, **(KEEP | options)))


def explain(*words: object) -> dict[str, Any]:
    done = subprocess.run([*EXPLAIN, *map(str, words), "--json", "-"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def is_stopped(pid: int) -> bool:
    return state(pid) in "Tt"


def parts_of(found: dict[str, Any]) -> dict[str, int]:
    """The bytes of rows and parts by key."""
    rows = {row["key"]: row["bytes"] for row in found["rows"]}
    return rows | {part["key"]: part["bytes"] for row in found["rows"] for part in row["parts"]}


def near(what: str, found: float, wanted: float, below: float, above: float) -> None:
    """found lies in wanted - below .. wanted + above."""
    words = f"{what}: {found:,.0f}, wanted {wanted:,.0f} -{below:,.0f} +{above:,.0f}"
    assert wanted - below <= found <= wanted + above, words


def check_sum(found: dict[str, Any]) -> None:
    rows = sum(row["bytes"] for row in found["rows"])
    near("the sum of the rows", rows, found["sum_bytes"], 100, 100)
    near("the sum", found["sum_bytes"], found["rss_bytes"], 0.02 * found["rss_bytes"], 0.02 * found["rss_bytes"])
    for row in found["rows"]:
        near(row["name"], sum(part["bytes"] for part in row["parts"]), row["bytes"], 50, 50)


def check_mixed(found: dict[str, Any], said: dict[str, int], loose: int = 256 * KIB) -> None:
    """What a row may be off by: `loose` for small change of the C library and of whole pages, more for an estimate."""
    parts = parts_of(found)
    check_sum(found)
    at_hand = 256 * KIB * 6  # main's magazines and spares of the classes it used
    near("live small blocks", parts["live_small"], said["live_small"], loose, loose)
    near("live large blocks", parts["live_runs"] + parts["live_mappings"], said["live_large"], loose, loose)
    kept = MIB  # empty slabs; one of blocks of 32 KiB is half of that
    packs = 8 * MIB  # what main may have put by of what it freed: it stands among the thread caches
    near("free blocks", parts["free"], said["free"], at_hand + packs, kept + said["threads"])
    floor = said["threads"] if HARDENED else said["threads"] // 2
    near("thread caches", parts["threads"], said["threads"], floor, at_hand + kept + packs)
    near("waiting to go home", parts["going_home"], said["cached"] + said["gone"], MIB + packs, MIB)
    freed = sum(said[what] for what in ("free", "threads", "cached", "gone"))
    near("all that was freed", parts["free"] + parts["threads"] + parts["going_home"], freed, 2 * MIB, 2 * MIB)
    near("own records", parts["own"], 1.5 * MIB, 1.4 * MIB, 1.5 * MIB)
    near("huge-page excess", parts["huge"], 0, 0, MIB)
    slabs = 262144 // 272  # of blocks of 240 bytes: what is no block's in one is less than a block more than without its colour
    near("internal waste", parts["internal"], 0, 0, MIB + 240 * slabs)
    near("not ours", parts["others"], 2 * MIB, 2 * MIB, 4 * MIB)
    assert found["threads"] == 2 and found["torn_records"] == 0
    (row,) = [one for one in found["classes"] if one["size"] == 240]
    near("blocks of 240 bytes", row["live"] + row["cached"] + row["free"], 262144, 0, 200)
    assert row["carved"] <= row["blocks"]


def test_preloaded_the_rows_are_what_the_program_did() -> None:
    with holder("mixed", PROGRAMS / "explain_holder") as (pid, said):
        found = explain(pid)
        assert found["exact"] and found["state"] == "running" and found["variant"] == os.environ["TESTED_VARIANT"]
        check_mixed(found, said)


def test_an_estimate_is_close_and_says_so() -> None:
    with holder("mixed", PROGRAMS / "explain_holder") as (pid, said):
        found = explain(pid, "--estimate")
        assert not found["exact"]
        check_mixed(found, said, loose=MIB)


def test_linked_statically() -> None:
    with holder("mixed", PROGRAMS / "explain_static", preload=False) as (pid, said):
        check_mixed(explain(pid), said)


def test_stripped() -> None:
    with directory() as place:
        program = place / "stripped"
        if not shutil.which("strip"):
            return
        subprocess.run(["strip", "-o", program, PROGRAMS / "explain_static"], check=True)
        with holder("mixed", program, preload=False) as (pid, said):
            check_mixed(explain(pid), said)


def test_what_a_long_run_has_freed_is_at_hand() -> None:
    with holder("run", PROGRAMS / "explain_holder") as (pid, said):
        found = explain(pid)
        check_sum(found)
        near("live small blocks", parts_of(found)["live_small"], said["live_small"], 4 * KIB, 24 * KIB)
        assert found["torn_records"] == 0


def test_what_threads_have_at_hand_of_large_blocks_is_not_live() -> None:
    with holder("turns", PROGRAMS / "explain_holder") as (pid, said):
        found = explain(pid)
        check_sum(found)
        parts = parts_of(found)
        near("live large blocks", parts["live_runs"] + parts["live_mappings"], said["live_large"], 4 * KIB, 4 * KIB)
        near("waiting to go home", parts["going_home"], 2 * 6 * 128 * KIB, 256 * KIB, MIB)
        assert found["torn_records"] == 0


def test_a_huge_page_that_is_hardly_used_is_excess() -> None:
    with holder("huge", PROGRAMS / "explain_holder") as (pid, said):
        found = explain(pid)
        check_sum(found)
        if said["huge"]:
            near("huge-page excess", parts_of(found)["huge"], said["huge"], 512 * KIB, 0)
            assert found["huge_page_bytes"] >= said["huge"]


def test_a_process_that_changes_is_read_all_the_same() -> None:
    with holder("change", PROGRAMS / "explain_holder") as (pid, _):
        found = explain(pid)
        assert found["rss_bytes"] and abs(found["difference_percent"]) < 20
        stopped = explain(pid, "--stop")
        assert stopped["state"] == "stopped"
        check_sum(stopped)
        assert not is_stopped(pid), "it goes on afterwards"


def test_a_process_whose_first_thread_has_ended_is_read_through_another() -> None:
    with holder("heir", PROGRAMS / "explain_holder") as (pid, _):
        while stat(pid)[STATE] != "Z":
            time.sleep(0.01)
        for words in ([], ["--stop"]):
            found = explain(pid, *words)
            assert found["pid"] == pid and found["exact"] and "explain_holder" in found["command"], found
            check_sum(found)
            near("live small blocks", parts_of(found)["live_small"], 64 * MIB, 0, MIB)
        assert not is_stopped(pid), "it goes on afterwards"
        top = subprocess.run([*EXPLAIN[:-1], "top", str(pid), "-n", "1"], capture_output=True, text=True)
        assert top.returncode == 0 and "the kernel's Rss" in top.stdout, top.stderr


def test_top_looks_again_and_again() -> None:
    with holder("change", PROGRAMS / "explain_holder") as (pid, _):
        words = [*EXPLAIN[:-1], "top", str(pid), "--interval", "300ms", "--json", "-", "--count", "3"]
        percent = 0.0
        for _ in range(20):  # on a busy machine it may not have run in between
            done = subprocess.run(words, capture_output=True, text=True)
            looks = [json.loads(line) for line in done.stdout.splitlines()]
            assert done.returncode == 0 and len(looks) == 3, done.stderr
            assert looks[0]["cpu_percent"] is None and all(look["pid"] == pid and look["rss_bytes"] for look in looks)
            assert looks[2]["age_s"] > looks[0]["age_s"]
            percent = max(looks[1]["cpu_percent"], looks[2]["cpu_percent"])
            if percent > 1:
                break
        assert percent > 1, "it runs all the time"
        page = subprocess.run([*EXPLAIN[:-1], "top", str(pid), "-n", "1"], capture_output=True, text=True)
        assert page.returncode == 0 and "the kernel's Rss" in page.stdout and "class (bytes)" in page.stdout, page.stderr


def test_layout_p1_p2_p3() -> None:
    """layout P1: it lies where nothing can write; layout P2: names stand once; layout P3: roots have sizes."""
    with holder("sleep", PROGRAMS / "explain_holder") as (pid, _):
        mappings = smaps.read(pid)
        with Memory(pid) as memory:
            address = symbol.find(memory, mappings, "")
            assert address, "the library has no symbol hakmem_layout"
            (home,) = [mapping for mapping in mappings if mapping.start <= address < mapping.end]
            assert home.access == "r--p", home.access
            head = layout.HEAD.unpack(memory.read(address, layout.HEAD.size))
            roots, fields, addresses, root_table, field_table = head[2], head[3], head[7], head[8], head[9]
            rows = list(layout.FIELD.iter_unpack(memory.read(root_table, roots * layout.FIELD.size)))
            places = [at for (at,) in layout.ADDRESS.iter_unpack(memory.read(addresses, roots * layout.ADDRESS.size))]
            more = list(layout.FIELD.iter_unpack(memory.read(field_table, fields * layout.FIELD.size)))
            names = [row[0] for row in [*rows, *more]]
            assert len(set(names)) == len(names) and all(name.endswith(b"\0") and name[0] for name in names), names
            for place, (name, _, count) in zip(places, rows, strict=True):
                ends = {place, place + count - 1}
                assert count > 0 and all(any(m.start <= end < m.end for m in mappings) for end in ends), name


def test_another_allocator_serves() -> None:
    with holder("sleep", PROGRAMS / "explain_holder", HAKMEM_FORCE_LIBC_ALLOC="1") as (pid, _):
        done = subprocess.run([*EXPLAIN, str(pid)], capture_output=True, text=True)
    if os.environ["TESTED_VARIANT"] != "fast":
        assert done.returncode == 0 and "hakmem holds no block" in done.stdout, done.stdout + done.stderr


def test_the_table() -> None:
    with holder("mixed", PROGRAMS / "explain_holder") as (pid, _):
        done = subprocess.run([*EXPLAIN, str(pid)], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    for words in ("live blocks", "not ours", "the kernel's Rss", "size classes with the most waste"):
        assert words in done.stdout, done.stdout


def test_what_cannot_be_explained() -> None:
    check_refusals("explain")
    refused(2, "is not a process id", "explain", "0")
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    refused(2, f"process {process.pid} has no memory of its own", "explain", process.pid)
    process.wait()


def run(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [*EXPLAIN, "--run", LIBRARY, "--", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def check_held(mode: str, status: int, **options: str) -> None:
    with directory() as place:
        page = place / "page.json"
        command = [*EXPLAIN, "--run", LIBRARY, "--json", page, "--", PROGRAMS / "explain_holder", mode]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | options)
        assert done.returncode == status and not done.stdout, (mode, done.returncode, done.stdout)
        assert done.stderr.count("held at its exit") == 1, (mode, done.stderr)
        found = json.loads(page.read_text())
    check_sum(found)
    near(f"live small blocks, {mode}", parts_of(found)["live_small"], 64 * MIB, 0, MIB)


def test_held_at_its_exit() -> None:
    check_held("exit", 3)


def test_held_when_the_last_of_its_threads_ends() -> None:
    check_held("return_last", 0)
    check_held("exit_last", 3)
    check_held("exec_last", 3)
    check_held("system_call_last", 0, HAKMEM_PURGE_THREAD="0")


def test_a_held_program_keeps_its_output_status_and_signals() -> None:
    done = run("sh", "-c", "cat; exit 42", input="words")
    assert (done.returncode, done.stdout) == (42, "words") and "the kernel's Rss" in done.stderr
    done = run("sh", "-c", "kill -USR1 $$")
    assert done.returncode == -signal.SIGUSR1 and "the kernel's Rss" in done.stderr
    done = run("sh", "-c", "kill -XFSZ $$; echo ignored")
    assert done.returncode == -signal.SIGXFSZ and not done.stdout, done.stdout
    done = run("sh", "-c", "kill -INT $$; echo ignored", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert (done.returncode, done.stdout) == (0, "ignored\n")
    command = [*EXPLAIN, "--run", LIBRARY, "--", PROGRAMS / "explain_holder", "sleep"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "ready 0\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == -signal.SIGINT and "the kernel's Rss" in said, said


def test_a_held_program_that_was_stopped_for_a_look_goes_on_with_who_holds_it() -> None:
    command = [*EXPLAIN, "--run", LIBRARY, "--", "sh", "-c", "echo $$; read word"]
    tracer = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert tracer.stdout
    pid = int(tracer.stdout.readline())
    try:
        assert explain(pid, "--stop")["state"] == "stopped"
        for _ in range(100):
            states = is_stopped(pid), is_stopped(tracer.pid)
            if not any(states):
                break
            time.sleep(0.1)
        assert not any(states), states
    finally:
        os.kill(pid, signal.SIGKILL)
        tracer.send_signal(signal.SIGCONT)
        tracer.communicate()


def test_a_script_that_names_no_interpreter_is_held_too() -> None:
    with directory() as place:
        script, garbage = place / "script", place / "garbage"
        script.write_text('echo "$1"; exit 3\n')
        garbage.write_bytes(b"\x7fELF\0")
        for one in (script, garbage):
            one.chmod(0o755)
        done = run(script, "a word")
        assert (done.returncode, done.stdout) == (3, "a word\n") and "the kernel's Rss" in done.stderr, done.stderr
        done = run(garbage)
        assert done.returncode == 126 and f"cannot run '{garbage}': Exec format error" in done.stderr, done.stderr


if __name__ == "__main__":
    sys.exit(run_all(globals()))
