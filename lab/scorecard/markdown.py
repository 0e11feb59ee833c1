"""A document as Markdown. Figures are files beside it (pictures.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lab.scorecard import pictures
from lab.scorecard.document import Block, Document, Figure, Fold, Heading, Items, Table, Text, text_of

SPECIAL = str.maketrans({"|": "\\|", "<": "&lt;", "*": "\\*", "`": "\\`", "_": "\\_", "\n": " "})


def write(document: Document) -> str:
    """The whole page."""
    parts = [f"# {_plain(document.title)}", _plain(document.subtitle), *_blocks(document.blocks, pictures.names(document))]
    return "\n\n".join(filter(None, parts)) + "\n"


def _plain(text: str) -> str:
    return text.translate(SPECIAL)


def _blocks(blocks: Iterable[Block], files: Mapping[Figure, str]) -> Iterable[str]:
    for block in blocks:
        match block:
            case Heading(level, text):
                yield f"{'#' * level} {_plain(text)}"
            case Text(text):
                yield _plain(text)
            case Items(items):
                yield "\n".join(f"- {_plain(item)}" for item in items)
            case Table():
                yield _table(block)
            case Figure(_, alt, caption):
                yield f"![{_plain(alt)}]({files[block]})"
                yield _plain(caption)
            case Fold(title, inner):
                yield from (f"**{_plain(title)}**", *_blocks(inner, files))


def _table(table: Table) -> str:
    rule = ["---" if column < table.left else "---:" for column in range(len(table.titles))]
    rows = [[_plain(title) for title in table.titles], rule]
    rows += [[_plain(text_of(cell)) for cell in row] for row in table.rows]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{lines}\n\n{_plain(table.caption)}" if table.caption else lines
