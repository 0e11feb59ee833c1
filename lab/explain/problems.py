"""What can stand in the way of looking at another process, in words."""

from __future__ import annotations

from pathlib import Path

from lab.errors import AskedWrongly, LabError

YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")


class NotPermitted(LabError):
    """The kernel does not let us read the process: exit status 2."""

    status = 2


class NoProcess(AskedWrongly):
    """There is no such process, or it has ended: exit status 2."""


class TornError(Exception):
    """What was read makes no sense: the process changed it meanwhile. Never shown; the reader leaves it out."""


def process_id(words: list[str], usage: str) -> int:
    """The one word of the command line. Raises AskedWrongly when it is no process id, or not the only one."""
    if len(words) != 1:
        raise AskedWrongly(f"one process id is wanted, not '{' '.join(words)}'", usage)
    if not words[0].isdecimal() or not int(words[0]):
        raise AskedWrongly(f"'{words[0]}' is not a process id", usage)
    return int(words[0])


def no_process(pid: int) -> LabError:
    """There is no such process; or it has no memory any more, or never had."""
    if Path(f"/proc/{pid}").exists():
        fix = "it has ended and its parent has not noticed yet, or it is one of the kernel's"
        return NoProcess(f"process {pid} has no memory of its own", fix)
    fix = "`pgrep -a NAME` lists processes; one that has ended cannot be read"
    return NoProcess(f"there is no process {pid}", fix)


def not_permitted(pid: int) -> LabError:
    """The reason and the way out, with the one that Yama asks for where it stands in the way."""
    fix = "run hakmem as its user or as root; in a container it takes the capability SYS_PTRACE"
    try:
        scope = int(YAMA.read_text())
    except (OSError, ValueError):
        scope = 0
    if scope in (1, 2):
        fix = (
            f"kernel.yama.ptrace_scope is {scope}: as root, or after `sysctl kernel.yama.ptrace_scope=0`; "
            "or start the program with `hakmem run --explain -- CMD`, `--heap FILE` or `--calls`"
        )
    elif scope == 3:
        fix = "kernel.yama.ptrace_scope is 3: nobody may read another process until the next start of the system"
    return NotPermitted(f"process {pid} may not be read by this user (ptrace permission)", fix)


def not_on_hakmem(pid: int) -> LabError:
    """No library in it that we know."""
    fix = "start it with `hakmem run -- CMD`; programs that are static or setuid ignore LD_PRELOAD"
    return LabError(f"process {pid} is not on hakmem, or on one that is too old to be explained", fix)


def other_version(pid: int, there: str, release: str) -> LabError:
    """A library whose description we cannot read."""
    return LabError(
        f"process {pid} is on hakmem {release or '(unknown)'}, whose description ({there}) this tool does not know",
        "use the `hakmem` of the version that the process was started with",
    )
