"""The contract's CSV formats to the letter, and files that are not of them."""

import io

import pytest

from lab import csvs
from lab.errors import AskedWrongly

EPOCHS = [csvs.Epoch(0, 500, 1234567.4, 2.004), csvs.Epoch(1, 500, 1.6, 2.5)]
STEPS = [csvs.Step(1700000000, 1.23456, 20000000, 58500000.0, 33.333)]


def written(kind, rows):
    file = io.StringIO()
    writer = csvs.Writer(file, kind)
    for row in rows:
        writer.row(row)
    return file.getvalue()


def test_the_file_of_one_process():
    assert written(csvs.Epoch, EPOCHS) == "epoch,iter,throughput_ops_s,rss_mb\n0,500,1234567,2.00\n1,500,2,2.50\n"


def test_the_file_of_a_process_per_step():
    assert written(csvs.Step, STEPS) == (
        "epoch_s,elapsed_s,iter,throughput_ops_s,peak_rss_mb\n1700000000,1.235,20000000,58500000,33.33\n"
    )


@pytest.mark.parametrize("kind, rows", [(csvs.Epoch, EPOCHS), (csvs.Step, STEPS)])
def test_what_is_written_is_read(tmp_path, kind, rows):
    path = tmp_path / "soak.csv"
    path.write_text(written(kind, rows))
    figures = csvs.read(path)
    assert figures.throughput_ops_s == [round(row.throughput_ops_s) for row in rows]
    assert figures.rss_mb == [round(row.rss_mb, 2) for row in rows]


def test_more_columns_in_another_order(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("rss_mb,note,throughput_ops_s\n3,x,100\n4,y,200\n")
    assert csvs.read(path) == csvs.Figures([100, 200], [3, 4])


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "no rows"),
        ("epoch,iter,throughput_ops_s,rss_mb\n", "no rows"),
        ("a,b\n1,2\n", "needs the columns"),
        ("throughput_ops_s\n1\n", "needs the columns"),
        ("throughput_ops_s,rss_mb\n1,2\nfast,2\n", "line 3: throughput_ops_s"),
        ("throughput_ops_s,rss_mb\n1\n", "line 2: rss_mb"),
        ("throughput_ops_s,rss_mb\nnan,1\n", "line 2: throughput_ops_s"),
        ("throughput_ops_s,rss_mb\n1,-1\n", "line 2: rss_mb"),
    ],
)
def test_files_that_are_no_soaks(tmp_path, text, words):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(AskedWrongly, match="bad.csv.*" + words):
        csvs.read(path)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    for name in ("missing.csv", "binary.csv"):
        with pytest.raises(AskedWrongly, match=f"cannot read .*{name}"):
            csvs.read(tmp_path / name)
