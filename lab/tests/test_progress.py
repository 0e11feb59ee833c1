"""The bar: silent off the terminal, right about the time that is left, gone when the block is left."""

import io

import pytest

from lab.progress import Progress, spoken_time


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def a_known_terminal(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


@pytest.mark.parametrize("stream, quiet", [(io.StringIO(), False), (Terminal(), True)])
def test_nothing_is_written_off_the_terminal_or_when_quiet(stream, quiet):
    with Progress(10, quiet, unit="runs", stream=stream) as progress:
        progress.advance(3, "a run")
        progress.say("another")
        progress.note("a line")
    assert stream.getvalue() == ""


def test_a_bar_of_runs_says_what_is_left_from_the_pace_so_far():
    stream, clock = Terminal(), Clock()
    with Progress(40, unit="runs", label="speed", stream=stream, clock=clock) as progress:
        assert progress.remaining() is None
        clock.now += 30
        progress.advance(10, "mixed on glibc")
        assert progress.remaining() == pytest.approx(90)
    shown = stream.getvalue()
    assert "speed" in shown and "mixed on glibc" in shown and "1 min 30 s left" in shown


def test_a_bar_of_seconds_moves_with_the_clock():
    stream, clock = Terminal(), Clock()
    with Progress(600, stream=stream, clock=clock) as progress:
        clock.now += 150
        progress.say("tail")
        assert progress.remaining() == pytest.approx(450) and progress.done == pytest.approx(150)
        clock.now += 1000
        assert progress.remaining() == 0
    assert "8 min left" in stream.getvalue() or "7 min 30 s left" in stream.getvalue()


def test_methods_after_the_end_write_nothing():
    stream = Terminal()
    with Progress(5, unit="runs", stream=stream) as progress:
        progress.advance()
    written = stream.getvalue()
    progress.advance()
    progress.note("late")
    assert stream.getvalue() == written


def test_an_unknown_total_has_no_remaining_time():
    progress = Progress(0, unit="runs", stream=io.StringIO())
    progress.advance(5)
    assert progress.remaining() is None


@pytest.mark.parametrize(
    "seconds, words",
    [(0, "0 s"), (89, "89 s"), (90, "1 min 30 s"), (120, "2 min"), (719, "11 min"), (3600, "1 h"), (3899, "1 h 5 min")],
)
def test_spoken_time(seconds, words):
    assert spoken_time(seconds) == words
