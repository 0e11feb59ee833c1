"""The command line of the lab: what it prints and with which status it ends."""

from __future__ import annotations

import errno
import importlib
import json
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import click
import pytest
import typer

from lab import cli, results
from lab.errors import AskedWrongly, CrashError, LabError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., object]], None]:
    """Puts a function in the place of `hakmem bench`."""

    def put(function: Callable[..., object]) -> None:
        module = types.ModuleType("lab.commands.bench")
        module.command = function  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "lab.commands.bench", module)

    return put


def raising(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


def test_without_a_command_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    said = capsys.readouterr().err
    assert all(name in said for name in cli.COMMANDS)
    assert cli.main(["--help"]) == 0
    assert "usage: hakmem COMMAND" in capsys.readouterr().out


def test_an_unknown_command_names_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["benhc"]) == 2
    assert capsys.readouterr().err == f"hakmem: unknown command 'benhc'\n  use one of: {', '.join(cli.COMMANDS)}\n"


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (LabError("no compiler", "install gcc"), 1, "hakmem: no compiler\n  install gcc\n"),
        (LabError("broken"), 1, "hakmem: broken\n"),
        (AskedWrongly("there is no peer 'x'", "use y"), 2, "hakmem: there is no peer 'x'\n  use y\n"),
        (CrashError("mixed was killed", "\nout of memory\n"), 1, "hakmem: mixed was killed; its last words: out of memory\n"),
        (KeyboardInterrupt(), 130, "hakmem: interrupted\n"),
        (
            OSError(errno.EROFS, "Read-only file system", "build/lab/lock"),
            1,
            "hakmem: cannot write build/lab/lock: Read-only file system\n"
            "  make it writable, and room for it; or clone elsewhere\n",
        ),
    ],
)
def test_errors_become_words_and_a_status(bench, capsys, error: BaseException, status: int, words: str) -> None:
    bench(raising(error))
    assert cli.main(["bench"]) == status
    assert capsys.readouterr().err == words


@pytest.mark.parametrize("defect", [ZeroDivisionError("defect"), FileNotFoundError(errno.ENOENT, "defect", "a file")])
def test_a_defect_is_not_hidden(bench, defect: Exception) -> None:
    bench(raising(defect))
    with pytest.raises(type(defect)):
        cli.main(["bench"])


def test_the_status_of_a_command(bench) -> None:
    for function, status in [(lambda: None, 0), (lambda: 3, 3), (raising(typer.Exit(4)), 4)]:
        bench(function)
        assert cli.main(["bench"]) == status


def test_options_reach_the_command_and_wrong_ones_are_refused(bench, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[str, int]] = []

    def command(name: str, count: int = 1) -> None:
        seen.append((name, count))

    bench(command)
    assert cli.main(["bench", "mixed", "--count", "7"]) == 0
    assert seen == [("mixed", 7)]
    assert cli.main(["bench", "mixed", "--count", "many"]) == 2
    assert cli.main(["bench", "mixed", "--speed"]) == 2
    assert "`hakmem bench --help` lists the options" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "option", "metavar"),
    [
        (["bench", "--budget", ""], "--budget", "TIME"),
        (["bench", "--list", "--json="], "--json", "FILE"),
        (["bench", "--list", "-w", "mixed", "-w", ""], "--workload", "NAME"),
        (["heap", "-o", "", "1"], "--output", "FILE"),
        (["calls", "1", "--trace", ""], "--trace", "FILE"),
        (["explain", "1", "--json", ""], "--json", "FILE"),
        (["soak", "--out", ""], "--out", "DIR"),
    ],
)
def test_an_option_without_a_value_is_not_one_that_was_left_out(words: list[str], option: str, metavar: str, capsys) -> None:
    assert cli.main(words) == 2
    assert capsys.readouterr().err == f"hakmem: {option} '' has no value\n  give it as {option} {metavar}, or leave it out\n"


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_is_there_and_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert importlib.import_module(f"lab.commands.{name}").command.__doc__
    assert cli.main([name, "--help"]) == 0
    said = capsys.readouterr().out
    assert f"hakmem {name}" in said and "--json" in said


def test_the_launcher_knows_the_same_commands() -> None:
    launcher = (ROOT / "hakmem").read_text()
    (listed,) = re.findall(r"^    (.*)\)\n        \. \"\$root/launcher/lab\.sh\"", launcher, re.M)
    assert {*listed.split(" | "), "explain", "heap", "calls", "top"} == set(cli.COMMANDS)  # these need no build: launcher/explain.sh
    assert all(re.search(rf"^  (\w+, )?{name}\b", launcher, re.M) for name in cli.COMMANDS)


def outside(body: str, stdout: object, before: str = "", **options: object) -> subprocess.CompletedProcess[str]:
    """Runs `hakmem bench` with this body as a process of its own; `before` stands before the exec in a shell."""
    script = (
        "import os, signal, subprocess, sys, time, types\nfrom lab import cli\n"
        f"m = types.ModuleType('lab.commands.bench')\ndef command():\n    {body}\n"
        "m.command = command\nsys.modules['lab.commands.bench'] = m\nsys.exit(cli.main(['bench']))\n"
    )
    return subprocess.run(
        ["sh", "-c", f'{before} exec "$@"', "sh", sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=stdout,  # type: ignore[call-overload]
        stderr=subprocess.PIPE,
        text=True,
        timeout=250,
        **options,
    )


def test_a_reader_that_goes_away_is_no_error() -> None:
    for lines in (1, 100_000):
        reader, writer = os.pipe()
        os.close(reader)
        done = outside(f"for i in range({lines}): print('a line that fills the pipe')", writer)
        os.close(writer)
        assert done.stderr == "" and done.returncode == 141


def test_a_reader_that_goes_away_does_not_cost_the_file(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    body = f"from lab import results; results.give(['a line that fills the pipe'] * 100_000, dict(kept=1), '{tmp_path}/kept')"
    done = outside(body, writer)
    os.close(writer)
    assert (done.stderr, done.returncode) == ("", 141) and json.loads((tmp_path / "kept").read_text()) == {"kept": 1}


@pytest.mark.parametrize("body", ["print('short')", "print('long' * 100_000)", "print('flushed', flush=True)"])
def test_output_that_cannot_be_written_is_an_error_in_words(body: str) -> None:
    with open("/dev/full", "w") as full:
        done = outside(body, full)
    fix = "make room, or send it to a place that can be written"
    assert done.stderr == f"hakmem: cannot write on standard output: No space left on device\n  {fix}\n"
    assert done.returncode == 1


def test_descriptors_that_are_closed_lead_nowhere() -> None:
    """What is opened later does not stand in their place, and nobody is told what nobody can read."""
    body = (
        "print('seen by nobody', sys.stdout.isatty(), file=sys.stderr)\n"
        "    with open('/proc/self/stat') as file: assert file.fileno() > 2\n"
        "    return subprocess.run(['sh', '-c', 'exec <&0 >&1 2>&2 && exit 7']).returncode"
    )
    assert outside(body, subprocess.DEVNULL, "exec <&- >&- 2>&-;").returncode == 7


@pytest.mark.parametrize("before", ["exec >&-;", "exec </dev/null >&-;", "exec <&- >&-;", "exec 1</dev/null;"])
@pytest.mark.parametrize("body", ["print('short')", "print('long' * 100_000)", "print('flushed', flush=True)"])
def test_output_that_is_closed_is_an_error_in_words(tmp_path: Path, before: str, body: str) -> None:
    done = outside(f"file = open('{tmp_path}/kept', 'w'); {body}", subprocess.DEVNULL, before)
    fix = "make room, or send it to a place that can be written"
    assert done.stderr == f"hakmem: cannot write on standard output: it is not open for writing\n  {fix}\n"
    assert done.returncode == 1 and (tmp_path / "kept").read_text() == ""


def test_the_list_of_commands_is_output() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "lab", "--help"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1 and done.stderr.startswith("hakmem: cannot write on standard output: No space left")


def test_a_command_without_output_needs_none() -> None:
    assert outside("return 7", subprocess.DEVNULL, "exec >&-;").returncode == 7


def test_words_that_cannot_be_written_are_dropped() -> None:
    assert outside("print('words', file=sys.stderr); return 7", subprocess.DEVNULL, "exec 2>/dev/full;").returncode == 7


@pytest.mark.parametrize(
    ("encoding", "wanted"),
    [
        ("ascii", b"- | speed [95 %] +-5 us ? caf\xe9\n"),
        ("ascii:surrogateescape", b"- | speed [95 %] +-5 us ? caf\xe9\n"),
        ("latin-1", b"- | speed [95\xa0%] \xb15 \xb5s ? caf\xe9\n"),
        ("utf-8", "─ │ speed [95\u00a0%] ±5 µs 中 caf".encode() + b"\xe9\n"),
    ],
)
def test_what_an_encoding_does_not_have_is_said_in_plain_letters(tmp_path: Path, encoding: str, wanted: bytes) -> None:
    """On both streams; a byte of a file's name that is no letter stays what it is."""
    for place in ("stdout", "stderr"):
        with open(tmp_path / "said", "wb") as said:
            body = (
                "words = '\\u2500 \\u2502 speed [95\\u00a0%] \\u00b15 \\u00b5s \\u4e2d caf\\udce9'\n"
                f"    print(words, file=sys.{place}, flush=True)"
            )
            outside(body, said, f"PYTHONIOENCODING={encoding}; export PYTHONIOENCODING; exec 2>&1;")
        assert (tmp_path / "said").read_bytes() == wanted


@pytest.mark.parametrize(("name", "status"), [("TERM", 143), ("HUP", 129)])
def test_what_ends_a_process_is_a_ctrl_c(name: str, status: int) -> None:
    body = (
        f"try: os.kill(os.getpid(), signal.SIG{name}); time.sleep(60)\n"
        "    except KeyboardInterrupt: print('kept'); raise"
    )
    done = outside(body, subprocess.PIPE)
    assert (done.stdout, done.stderr, done.returncode) == ("kept\n", "hakmem: interrupted\n", status)


def test_a_hang_up_that_is_ignored_stays_so() -> None:
    done = outside("os.kill(os.getpid(), signal.SIGHUP); print('goes on')", subprocess.PIPE, "trap '' HUP;")
    assert (done.stdout, done.returncode) == ("goes on\n", 0)


def test_a_file_of_lines_that_cannot_be_written_is_named() -> None:
    with pytest.raises(LabError, match="cannot write /dev/full: No space left on device"):
        results.add("/dev/full", "a line")


@pytest.mark.parametrize("name", ["explain", "heap", "calls", "top"])
def test_a_command_about_a_process_says_that_it_takes_its_number(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    said = capsys.readouterr().out
    assert f"hakmem {name} [OPTIONS] PID" in said and "words" not in said
    assert [line.strip("│ ").split()[:4] for line in said.splitlines() if "the process  " in line][0] == ["*", "pid", "NUMBER", "the"]


MEASURING = ("bench", "ab", "soak", "tail", "scorecard")


@pytest.mark.parametrize("name", MEASURING)
def test_the_same_option_has_the_same_names_everywhere(name: str) -> None:
    options = {word for parameter in cli.application(name).params for word in parameter.opts}
    assert {"--quiet", "-q", "--json", "--seed"} <= options
    assert not {"--peer", "--allocator"} & options or {"--peer", "--allocator", "-p"} <= options


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_the_help_says_what_an_option_takes(name: str) -> None:
    """FILE, TIME, or the choices: TEXT only where any text will do."""
    texts = {
        parameter.name
        for parameter in cli.application(name).params
        if isinstance(parameter, click.Option) and not parameter.hidden and parameter.make_metavar() == "TEXT"
    }
    assert texts <= {"reason"}


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_no_default_is_shown_where_there_is_none(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    assert "default: None" not in capsys.readouterr().out
