"""The command line of the lab: what it prints and with which status it ends."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from lab import cli
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
    ],
)
def test_errors_become_words_and_a_status(bench, capsys, error: BaseException, status: int, words: str) -> None:
    bench(raising(error))
    assert cli.main(["bench"]) == status
    assert capsys.readouterr().err == words


def test_a_defect_is_not_hidden(bench) -> None:
    bench(raising(ZeroDivisionError("defect")))
    with pytest.raises(ZeroDivisionError):
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


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    script = "import sys, typer\nfrom lab import cli\nimport types\n" + (
        "m = types.ModuleType('lab.commands.bench')\n"
        "def command():\n    for i in range(100000): print('a line that fills the pipe')\n"
        "m.command = command\nsys.modules['lab.commands.bench'] = m\nsys.exit(cli.main(['bench']))\n"
    )
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=250,
    )
    os.close(writer)
    assert "Traceback" not in done.stderr and done.returncode in (1, 141)
