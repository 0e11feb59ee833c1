"""The witness: who really owns malloc and free in the process that is about to be measured.

A library that is preloaded is not always used: the path may be wrong, the program may be static or bring an
allocator of its own, a variable may be dropped on the way. Then one allocator is measured under another's name. So
before the first measured run the same command is started once with the same environment and lab/native/witness.c
behind the allocator. In each process it reports, before main, what the loader has bound malloc, free, calloc,
realloc and operator new/delete to, in the program and in every library it has loaded, and whether blocks come from
glibc's own heap; then it ends the process. The measured runs load nothing but the allocator.

What it cannot see: a library that is loaded later with dlopen, calls that were bound when a library was linked
(-Bsymbolic) or go to a private allocator under other names (je_malloc, an arena), and what a program starts that is
not a shell or another starter of the list below.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab import once
from lab.elf import is_static
from lab.errors import LabError, WitnessError
from lab.model import Allocator

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(__file__).parent / "native/witness.c"
REQUIRED = ("malloc", "free", "calloc", "realloc")
OPERATORS = ("_Znwm", "_ZdlPv")
CPLUSPLUS_RUNTIMES = ("libstdc++.so", "libc++.so", "libc++abi.so")
STARTERS = "sh dash bash env nice taskset setarch timeout stdbuf numactl chrt setsid pyenv".split()
TIMEOUT_S = 60.0


@dataclass
class Testimony:
    """What one process reported. Paths as the loader knows them."""

    program: str = ""
    libc: str = ""
    owners: dict[str, str] = field(default_factory=dict)
    bound: list[tuple[str, str, str]] = field(default_factory=list)  # (symbol, owner, from which object)
    served: str = ""


def library() -> Path:
    """build/lab/witness.so, compiled when it is not there or older than its source."""
    built = ROOT / "build/lab/witness.so"
    return once.made(built, lambda: once.is_newer(built, [SOURCE]), lambda: _compile(built))


def _compile(built: Path) -> None:
    new = built.with_suffix(".new")
    command = [os.environ.get("CC") or "cc", "-std=c11", "-O2", "-fPIC", "-shared", "-o", str(new), str(SOURCE), "-ldl"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        raise LabError(f"no C compiler: {error}", "install gcc and libc6-dev") from None
    if done.returncode != 0:
        raise LabError(f"the witness does not compile: {done.stderr.strip()[-400:]}", "install gcc and libc6-dev")
    new.replace(built)


def prove(allocator: Allocator, command: Sequence[str], env: Mapping[str, str]) -> str:
    """One sentence that says what was proven, for the process that `command` becomes with the environment `env`.

    `env` is the whole environment of the measured process; its LD_PRELOAD is left in its order. Raises WitnessError
    when the allocator does not own malloc and free there, or when that cannot be seen.
    """
    _check_library(allocator)
    _check_command(command, env)
    said, last_words = testimonies(allocator, command, env)
    if not said:
        raise WitnessError(
            f"the witness saw no process of `{command[0]}`" + (f": {last_words}" if last_words else ""),
            "it ended before it started, or ignores LD_PRELOAD (static, setuid)",
        )
    for testimony in said:
        judge(allocator, testimony, env, last_words)
    checked = sum(len(testimony.bound) for testimony in said)
    programs = ", ".join(dict.fromkeys(os.path.basename(testimony.program) for testimony in said))
    return f"{allocator.name} owns malloc and free in {programs} ({checked} bindings checked)"


def _check_library(allocator: Allocator) -> None:
    path = allocator.path
    if path is None:
        return
    if not os.path.isfile(path):
        raise WitnessError(f"there is no library at {path}", f"`hakmem peers {allocator.name}`, or `hakmem build`, makes it")
    if _separates(path):
        what = "move the tree" if _separates(str(ROOT)) and Path(path).is_relative_to(ROOT) else "copy the library, or link to it,"
        raise WitnessError(f"LD_PRELOAD cannot carry the path '{path}'", f"{what} to a path without spaces and colons")


def _separates(path: str) -> bool:
    """Whether the loader would take it for several."""
    return any(letter in path for letter in " :\t")


def _check_command(command: Sequence[str], env: Mapping[str, str]) -> None:
    program = shutil.which(command[0], path=env.get("PATH", os.defpath))
    if not program:
        raise WitnessError(f"there is no program '{command[0]}'", "install it, or build the benchmark drivers")
    if is_static(program):
        raise WitnessError(
            f"{program} is linked statically: no library can be preloaded", "measure a dynamically linked build of it"
        )


def testimonies(
    allocator: Allocator, command: Sequence[str], env: Mapping[str, str]
) -> tuple[list[Testimony], str]:
    """(what each process reported, the end of standard error)."""
    preload = [path for path in env.get("LD_PRELOAD", allocator.path or "").split(":") if path]
    with tempfile.TemporaryDirectory(prefix="hakmem-witness-") as directory:
        report = Path(directory) / "report"
        report.touch()
        asked = {
            "LD_PRELOAD": ":".join([*preload, str(library())]),
            "LD_BIND_NOW": "1",
            "LAB_WITNESS_REPORT": str(report),
            "LAB_WITNESS_PASS": f":{':'.join(STARTERS)}:",
        }
        last_words = _run(command, {**env, **asked})
        return parse(report.read_text(errors="replace")), last_words


def _run(command: Sequence[str], env: Mapping[str, str]) -> str:
    """Runs the command in a session of its own, which is ended in any case; returns the end of standard error."""
    with tempfile.TemporaryFile("w+", errors="replace") as words:
        process = subprocess.Popen(
            command, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=words, start_new_session=True
        )
        try:
            process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            _end(process)
        words.seek(0)
        return words.read().strip()[-400:]


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def parse(report: str) -> list[Testimony]:
    """The complete blocks of a report; a process that died while it reported is left out."""
    said: list[Testimony] = []
    testimony = Testimony()
    for line in report.splitlines():
        match line.split("\t"):
            case ["program", path]:
                testimony = Testimony(program=path)
            case ["libc", path]:
                testimony.libc = path
            case ["global", symbol, owner]:
                testimony.owners[symbol] = owner
            case ["bound", symbol, owner, origin]:
                testimony.bound.append((symbol, owner, origin))
            case ["served", who]:
                testimony.served = who
            case ["end"]:
                said.append(testimony)
    return said


def judge(allocator: Allocator, testimony: Testimony, env: Mapping[str, str], last_words: str = "") -> None:
    """Raises WitnessError unless everything in the testimony fits the claim that `allocator` owns malloc."""
    claimed = os.path.realpath(allocator.path or testimony.libc)
    program = os.path.basename(testimony.program)
    seen = [(symbol, owner, program) for symbol, owner in testimony.owners.items()] + [
        (symbol, owner, os.path.basename(origin))
        for symbol, owner, origin in testimony.bound
        if os.path.realpath(origin) != claimed
    ]
    for symbol, owner, where in seen:
        if os.path.realpath(owner) != claimed and not _is_operator_of_runtime(symbol, owner):
            raise _mismatch(allocator, f"{_spoken(symbol)} of {where} belongs to {owner}", program, last_words)
    missing = [symbol for symbol in REQUIRED if symbol not in testimony.owners]
    if missing:
        raise _mismatch(allocator, f"no {' and no '.join(missing)} was found", program, last_words)
    if len({testimony.owners.get(symbol) for symbol in OPERATORS}) > 1:
        raise _mismatch(allocator, "operator new and operator delete have different owners", program, last_words)
    _judge_served(allocator, testimony, env, program)


def _judge_served(allocator: Allocator, testimony: Testimony, env: Mapping[str, str], program: str) -> None:
    passes_on = env.get("HAKMEM_FORCE_LIBC_ALLOC", "0") != "0"
    wanted = "libc" if allocator.path is None or passes_on else "other"
    if testimony.served and testimony.served != wanted:
        what = "hands its requests on to glibc" if wanted == "other" else "does not get its blocks from glibc"
        raise _mismatch(allocator, f"malloc there {what}", program, "")


def _is_operator_of_runtime(symbol: str, owner: str) -> bool:
    """The C++ runtime's own operator new asks malloc, whoever owns that."""
    return symbol in OPERATORS and os.path.basename(owner).startswith(CPLUSPLUS_RUNTIMES)


def _spoken(symbol: str) -> str:
    return {"_Znwm": "operator new", "_ZdlPv": "operator delete"}.get(symbol, symbol)


def _mismatch(allocator: Allocator, found: str, program: str, last_words: str) -> WitnessError:
    claim = allocator.path or "glibc"
    loader = next((f"; the loader says: {line}" for line in last_words.splitlines() if "cannot be preloaded" in line), "")
    return WitnessError(
        f"{allocator.name} ({claim}) does not own malloc in {program}: {found}{loader}",
        "nothing was measured; is this the library that was meant, and does the program bring an allocator of its own?",
    )
