"""Text tables: columns as wide as their widest cell, the first to the left, the others to the right."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table; every row has as many cells as there are titles."""
    cells = [list(titles), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [_line(row, widths) for row in cells]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first = row[0].ljust(widths[0])
    return "  ".join([first, *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]).rstrip()
