"""The figures of a document as SVG files of their own, for pages that cannot hold them: Markdown.

Each is named after the section that it stands in, brings its colours along, for light and for dark, and its own paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lab.scorecard.document import Block, Document, Figure, Fold, Heading

COLOURS = Path(__file__).with_name("colours.css")
PAPER = "svg { background: var(--paper); }"


def names(document: Document) -> dict[Figure, str]:
    """The name of each figure's file, in the order of the document."""
    found: dict[Figure, str] = {}
    for section, figure in _placed(document.blocks, "figure"):
        same = sum(name.startswith(section) for name in found.values())
        found.setdefault(figure, f"{section}-{same + 1}.svg" if same else f"{section}.svg")
    return found


def standalone(figure: Figure) -> str:
    """The text of the figure's file."""
    head = figure.svg.index(">") + 1
    style = f"<style>\n{COLOURS.read_text(encoding='utf-8')}{PAPER}\n</style>"
    return f"{figure.svg[:head]}\n{style}{figure.svg[head:]}\n"


def _placed(blocks: Iterable[Block], section: str) -> Iterator[tuple[str, Figure]]:
    for block in blocks:
        match block:
            case Heading(2):
                section = block.anchor
            case Figure():
                yield section, block
            case Fold(_, inner):
                yield from _placed(inner, section)
