"""A document as one HTML page that needs nothing from elsewhere: its style, its figures, no script.

It follows the reader's choice of light or dark, prints in black on white with everything unfolded, and scrolls wide
tables by themselves on a narrow screen.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from lab import plots
from lab.scorecard.document import Block, Cell, Document, Figure, Fold, Heading, Items, Table, Text, text_of, tone_of

SHORT, SHORT_OF_MANY = 24, 12  # letters that stay on one line; in a table of many columns of words it would not fit the page
MANY = 5
STYLES = [plots.COLOURS, Path(__file__).with_name("page.css")]


def write(document: Document) -> str:
    """The whole page."""
    headings = [block for block in document.blocks if isinstance(block, Heading) and block.level == 2]
    links = " ".join(f'<a href="#{block.anchor}">{escape(block.text)}</a>' for block in headings)
    body = "\n".join(_blocks(document.blocks))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(document.title)}</title>
<style>
{"".join(style.read_text(encoding="utf-8") for style in STYLES)}</style>
</head>
<body>
<main>
<h1>{escape(document.title)}</h1>
<p class="subtitle">{escape(document.subtitle)}</p>
<nav>{links}</nav>
{body}
</main>
</body>
</html>
"""


def _blocks(blocks: Iterable[Block]) -> Iterable[str]:
    for block in blocks:
        match block:
            case Heading(level, text):
                yield f'<h{level} id="{block.anchor}">{escape(text)}</h{level}>'
            case Text(text, tone):
                yield f"<p{_class(tone)}>{escape(text)}</p>"
            case Items(items):
                yield "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"
            case Table():
                yield _table(block)
            case Figure(svg, _, caption):
                said = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
                yield f"<figure>{svg}{said}</figure>"
            case Fold(title, inner):
                yield f"<details><summary>{escape(title)}</summary>\n" + "\n".join(_blocks(inner)) + "\n</details>"


def _class(*names: str) -> str:
    chosen = " ".join(filter(None, names))
    return f' class="{chosen}"' if chosen else ""


def _row(row: Iterable[str | Cell], tag: str, left: int) -> str:
    short = SHORT_OF_MANY if left >= MANY else SHORT
    cells = (
        f"<{tag}{_class(_kind(text_of(cell), column < left, short), tone_of(cell))}>{escape(text_of(cell))}</{tag}>"
        for column, cell in enumerate(row)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _kind(text: str, words: bool, short: int) -> str:
    """A figure, or words short enough to stay on one line."""
    if not words:
        return "figure"
    return "short" if len(text) <= short else ""


def _table(table: Table) -> str:
    head = _row(table.titles, "th", table.left)
    body = "\n".join(_row(row, "td", table.left) for row in table.rows)
    caption = f'<p class="caption">{escape(table.caption)}</p>' if table.caption else ""
    return f'<div class="table"><table>\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table></div>{caption}'
