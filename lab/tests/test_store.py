"""What is stored comes back the same, survives broken lines, and says whether two records can be compared."""

import json
import os
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab import store
from lab.errors import AskedWrongly, LabError
from lab.model import Machine

MACHINE = Machine("A CPU", 2, "6.1", "madvise", "", 4000, "glibc 2.36", "gcc", "2026-01-01")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def record(**data) -> store.Record:
    return store.Record.now("scorecard", data, {"budget_s": 720}, MACHINE)


@settings(max_examples=50)
@given(data=st.dictionaries(st.text(), JSON, max_size=4))
def test_round_trip(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("store") / "deep/er/results.jsonl"
    store.append(record(**{"value": data}), path)
    store.append(record(second=True), path)
    records, unreadable = store.read(path)
    assert unreadable == 0
    assert records[0].data["value"] == data
    assert records[0].options == {"budget_s": 720} and records[0].machine["cpu"] == "A CPU"
    assert records[1].data == {"second": True}


def test_every_record_is_one_line_of_json(tmp_path):
    store.append(record(text="two\nlines \u2028 and \u00e9"), tmp_path / "r.jsonl")
    lines = (tmp_path / "r.jsonl").read_bytes().split(b"\n")
    assert len(lines) == 2 and lines[1] == b""
    assert json.loads(lines[0])["data"]["text"].endswith("\u00e9")


def test_separators_of_unicode_inside_a_text_do_not_split_a_line(tmp_path):
    store.append(record(text="a\u2028b\x85c"), tmp_path / "r.jsonl")
    assert store.read(tmp_path / "r.jsonl")[0][0].data["text"] == "a\u2028b\x85c"


def test_broken_lines_are_counted_and_skipped(tmp_path):
    path = tmp_path / "r.jsonl"
    store.append(record(n=1), path)
    with open(path, "a") as file:
        file.write('{"kind": "scorecard", "da')
    store.append(record(n=2), path)
    with open(path, "a") as file:
        file.write('[1, 2]\n{"kind": "scorecard", "data": 7, "format": 1}\n\n')
    records, unreadable = store.read(path)
    assert [entry.data["n"] for entry in records] == [1, 2] and unreadable == 3


def test_kinds_are_told_apart(tmp_path):
    path = tmp_path / "r.jsonl"
    store.append(record(n=1), path)
    store.append(store.Record.now("bench", {"n": 2}, {}, MACHINE), path)
    assert [entry.data["n"] for entry in store.read(path, "bench")[0]] == [2]


def test_a_store_that_is_not_there_is_empty(tmp_path):
    assert store.read(tmp_path / "none.jsonl") == ([], 0)


def test_a_store_that_cannot_be_written_says_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match="cannot write") as caught:
        store.append(record(), tmp_path / "file/r.jsonl")
    assert "--store" in caught.value.fix


def test_what_has_no_end_is_no_store(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/full")
    monkeypatch.setattr(store.Path, "read_text", lambda *_, **__: pytest.fail("it is read"))
    for path in ("/dev/full", "/dev/zero", tmp_path / "pipe", tmp_path / "link"):
        for use in (store.check, store.read):
            with pytest.raises(AskedWrongly, match="is no regular file"):
                use(store.Path(path))


def test_writers_at_the_same_time_keep_their_lines_whole(tmp_path):
    path = tmp_path / "r.jsonl"
    threads = [threading.Thread(target=store.append, args=(record(n=n, text="x" * 20000), path)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records, unreadable = store.read(path)
    assert sorted(entry.data["n"] for entry in records) == list(range(8)) and unreadable == 0


def test_what_json_cannot_say_is_replaced():
    found = store.plain({"a": np.float64(1.5), "b": float("nan"), "c": (np.int64(2), float("inf")), 4: np.array([1, 2])})
    assert found == {"a": 1.5, "b": None, "c": [2, None], "4": [1, 2]}


def test_records_of_another_machine_are_not_compared():
    here = record()
    other = store.Record(here.kind, {}, {}, {**here.machine, "cpu": "another"})
    assert here.same_place(record()) and not here.same_place(other)


def test_a_tree_without_git_has_no_commit(tmp_path):
    assert store.commit(tmp_path) == ""
