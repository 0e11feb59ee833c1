"""The figures of a document as SVG files of their own, for pages that cannot hold them: Markdown.

Each is named after the section that it stands in, brings its colours along, for light and for dark, and its own paper:
an element, since a background of the style is only painted by browsers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lab import plots
from lab.scorecard.document import Block, Document, Figure, Fold, Heading

PAPER = '<rect width="100%" height="100%" style="fill: {plain}; fill: var(--paper)"/>'


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
    style = f"<style>\n{plots.COLOURS.read_text(encoding='utf-8')}</style>"
    paper = PAPER.format(plain=plots.light()["paper"])
    return f"{figure.svg[:head]}\n{style}\n{paper}{figure.svg[head:]}\n"


def _placed(blocks: Iterable[Block], section: str) -> Iterator[tuple[str, Figure]]:
    for block in blocks:
        match block:
            case Heading(2):
                section = block.anchor
            case Figure():
                yield section, block
            case Fold(_, inner):
                yield from _placed(inner, section)
