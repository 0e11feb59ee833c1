"""Runs a program as a traced child (ptrace) and holds it just before it ends, whatever ends it.

Be it the return of main, exit, _exit or a signal: its memory is still whole then. The program is traced for this
event. Signals pass through it; those sent to us are passed on; a stop from the terminal stops both. Only the process
that was started is held, not its children. Its first thread may end before the others (pthread_exit in main): from then on
those are traced, too, and the last one is held.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import shutil
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from lab.explain import process
from lab.explain.problems import NotPermitted

PTRACE_CONT, PTRACE_SEIZE, PTRACE_LISTEN = 7, 0x4206, 0x4208
TRACE_CLONE, TRACE_EXEC, TRACE_EXIT = 1 << 3, 1 << 4, 1 << 6
EVENT_EXEC, EVENT_EXIT, EVENT_STOP = 4, 6, 128
WAIT_ALL = 0x40000000  # __WALL
STOPS = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
PASSED_ON = {signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2}
NOT_FOUND, NOT_RUNNABLE, SIGNALLED = 127, 126, 128
CALL_EXIT = {"x86_64": "60", "aarch64": "93"}  # the system call that ends one thread: its number in the kernel's asm/unistd


def run(command: Sequence[str], environment: Mapping[str, str], at_exit: Callable[[int], None]) -> int:
    """Runs the command, calls `at_exit` with its process id when it is about to end; returns its wait status."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    ready, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(go)
        _start(ready, command, environment)
    os.close(ready)
    try:
        _ptrace(PTRACE_SEIZE, pid, TRACE_EXEC | TRACE_EXIT)
    except OSError as error:
        os.close(go)  # it ends without having started
        os.waitpid(pid, 0)
        fix = "a container needs the capability SYS_PTRACE; kernel.yama.ptrace_scope must be below 3"
        raise NotPermitted(f"the program cannot be held at its exit (ptrace: {error.strerror})", fix) from None
    threading.Thread(target=_pass_signals_on, args=(pid,), daemon=True).start()
    os.write(go, b"!")
    os.close(go)
    return _follow(pid, at_exit)


def end_like(status: int) -> int:
    """Ends this process by the signal that ended the program; returns its exit status when there was none."""
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return SIGNALLED + number


def _start(ready: int, command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """In the child: becomes the program as soon as it is traced."""
    status = NOT_RUNNABLE
    try:
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):  # Python had changed these
            if number != signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        if os.read(ready, 1):
            _become(command, environment)
    except OSError as error:
        os.write(2, f"hakmem: cannot run '{command[0]}': {error.strerror}\n".encode())
        status = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE
    finally:
        os._exit(status)


def _become(command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """As a shell does: a file that is no binary and names no interpreter is one for sh. Raises OSError."""
    try:
        os.execvpe(command[0], list(command), dict(environment))
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        path = shutil.which(command[0]) or command[0]
        with open(path, "rb") as file:
            if b"\0" in file.read(80):
                raise
        os.execve("/bin/sh", ["/bin/sh", path, *command[1:]], dict(environment))


def _follow(pid: int, at_exit: Callable[[int], None]) -> int:
    """One thread is followed, until that is about to end alone: then all others, too."""
    started = held = False  # until it is the program, it is us
    ended: set[int] = set()  # threads that are not held at their end any more
    while True:
        thread, status = os.waitpid(-1, WAIT_ALL)
        if not os.WIFSTOPPED(status):
            if thread == pid:
                return status
            continue
        number, event = os.WSTOPSIG(status), status >> 16
        if event == EVENT_EXEC:
            started = True
            ended.clear()  # who has called for it is the first thread now, and the only one
        elif event == EVENT_EXIT and started and not held and thread in process.threads(pid):
            ended.add(thread)
            held = not _others_go_on(pid, thread, ended)
            if held:
                at_exit(pid)
            elif thread == pid:
                _seize_others(pid)
        stops = event == EVENT_STOP and number in STOPS
        if stops and thread == pid:
            os.kill(os.getpid(), signal.SIGSTOP)  # the whole job stops; what wakes it wakes the program, too
        _resume(PTRACE_LISTEN if stops else PTRACE_CONT, thread, 0 if event else number)
        if stops and thread == pid:
            os.kill(pid, signal.SIGCONT)


def _seize_others(pid: int) -> None:
    """All of its threads, but the first, are traced; those that they make are by themselves. What the terminal stops, it stops with us."""
    traced = {pid}
    while new := set(process.threads(pid)) - traced:
        traced |= new
        for thread in new:
            try:
                _ptrace(PTRACE_SEIZE, thread, TRACE_CLONE | TRACE_EXEC | TRACE_EXIT)
            except OSError:
                pass  # it has ended meanwhile, or was traced from its first instruction on


def _others_go_on(pid: int, thread: int, ended: set[int]) -> bool:
    """Whether a thread that is held at its end ends alone, and others live on, but for those that have come to their end before."""
    try:
        with open(f"/proc/{pid}/task/{thread}/syscall", encoding="ascii") as file:
            alone = file.read().split()[0] == CALL_EXIT.get(os.uname().machine)
        return alone and not ended.issuperset(process.threads(pid))
    except (OSError, IndexError):
        return False


def _pass_signals_on(pid: int) -> None:
    """What somebody sends us is meant for the program. What the terminal sends, it has got itself."""
    while True:
        info = signal.sigwaitinfo(PASSED_ON)
        if info.si_code <= 0:  # SI_USER and the like: from a process, not from the kernel
            try:
                os.kill(pid, info.si_signo)
            except ProcessLookupError:
                return


def _resume(request: int, pid: int, data: int) -> None:
    try:
        _ptrace(request, pid, data)
    except ProcessLookupError:
        pass  # killed meanwhile: the next wait says so


def _ptrace(request: int, pid: int, data: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(request, pid, None, data) == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
