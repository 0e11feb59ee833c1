"""A page as plain blocks, which markdown.py and html.py write: headings, paragraphs, lists, tables, figures.

A cell's tone is "good", "bad", "mild" or "". It is only a colour: what it says is always in the words as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

TONES = ("", "good", "bad", "mild")


@dataclass(frozen=True)
class Cell:
    text: str
    tone: str = ""


@dataclass(frozen=True)
class Heading:
    level: int
    text: str

    @property
    def anchor(self) -> str:
        """Where links to it point."""
        return "".join(letter if letter.isalnum() else "-" for letter in self.text.lower()).strip("-")


@dataclass(frozen=True)
class Text:
    text: str
    tone: str = ""


@dataclass(frozen=True)
class Items:
    items: Sequence[str]


@dataclass(frozen=True)
class Table:
    """`left` is how many of the first columns hold words; the others hold figures. `caption` says units."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    left: int = 1
    caption: str = ""


@dataclass(frozen=True)
class Figure:
    """`svg` is inline SVG; `alt` says in words what it shows."""

    svg: str
    alt: str
    caption: str = ""


@dataclass(frozen=True)
class Fold:
    """Blocks that are folded away on a screen, and written out in full on paper."""

    title: str
    blocks: Sequence[Block]


Block = Heading | Text | Items | Table | Figure | Fold


@dataclass
class Document:
    title: str
    subtitle: str = ""
    blocks: list[Block] = field(default_factory=list)

    def add(self, *blocks: Block) -> None:
        self.blocks.extend(blocks)


def text_of(cell: str | Cell) -> str:
    return cell.text if isinstance(cell, Cell) else cell


def tone_of(cell: str | Cell) -> str:
    return cell.tone if isinstance(cell, Cell) else ""
