"""Reads the CSV files of the soak scripts: one is told from the other by its columns."""

import csv

from settings import refuse

RSS_COLUMNS = ("rss_mb", "peak_rss_mb")


def read(path):
    """(throughputs, RSS in MB), a list each; ends the program when the file is not a soak's."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        refuse(f"cannot read {path}: {error}")
    if not rows:
        refuse(f"{path}: no rows")
    rss = [column for column in RSS_COLUMNS if column in rows[0]]
    if "throughput_ops_s" not in rows[0] or not rss:
        refuse(f"{path}: needs the columns throughput_ops_s and rss_mb or peak_rss_mb")
    try:
        return [float(row["throughput_ops_s"]) for row in rows], [float(row[rss[0]]) for row in rows]
    except (TypeError, ValueError):
        refuse(f"{path}: a cell is not a number")
