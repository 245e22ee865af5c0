"""A table that fits its terminal: where there is no room the columns that matter least are left out, and it says which."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from rich.box import SIMPLE
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.style import StyleType
from rich.table import Table
from rich.text import Text

_READABLE = 26
"""So wide a text that may be broken is at least, unless it is shorter."""
_BETWEEN = 2
"""Blanks between two columns."""


class TableColumn(msgspec.Struct, frozen=True):
    """A column: its heading, and what may happen to it where there is little room."""

    name: str
    rank: int = 0
    """Those of the highest rank are left out first; those of 0 stay, broken into several lines."""
    right: bool = False
    """Numbers stand on the right."""
    whole: bool = False
    """A cell is never broken: numbers, times, places on the log, fingerprints."""


def number(name: str, rank: int = 0) -> TableColumn:
    """A column of numbers."""
    return TableColumn(name, rank, right=True, whole=True)


class FittingTable:
    """Rows below headings, as wide as what it is printed on; into a pipe always all of it.

    With `cut` every row is one line, and a text for which there is no room ends with an ellipsis: for what is drawn again and again.
    """

    def __init__(self, columns: Sequence[TableColumn], title: str = "", *, cut: bool = False) -> None:
        self._columns, self._title, self._cut = tuple(columns), title, cut
        self._rows: list[tuple[tuple[str | Text, ...], StyleType, bool]] = []

    def add(self, *cells: str | Text, style: StyleType = "") -> None:
        """A row, with a cell for every column; text is never taken for markup."""
        self._rows.append((cells, style, False))

    def end_section(self) -> None:
        """Draw a line below the last row."""
        if self._rows:
            cells, style, _ = self._rows.pop()
            self._rows.append((cells, style, True))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """What rich prints of it."""
        del console
        kept, needed = list(range(len(self._columns))), [self._needed(index) for index in range(len(self._columns))]
        while sum(needed[index] + _BETWEEN for index in kept) + 1 > options.max_width:
            least = max(kept, key=lambda index: (self._columns[index].rank, index))
            if self._columns[least].rank == 0:
                break
            kept.remove(least)
        yield self._drawn(kept)
        left_out = [one.name for index, one in enumerate(self._columns) if index not in kept]
        if left_out and not self._cut:
            yield Text(f"no room for {', '.join(left_out)}: a wider terminal or a pipe has all", style="dim")

    def _needed(self, index: int) -> int:
        """The width below which a column is no longer readable."""
        one = self._columns[index]
        texts = (one.name, *(str(cells[index]) for cells, _, _ in self._rows))
        width = max(cell_len(line) for text in texts for line in text.split("\n"))
        return width if one.whole else min(width, _READABLE)

    def _drawn(self, kept: Sequence[int]) -> Table:
        table = Table(title=self._title or None, title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))
        for index in kept:
            one = self._columns[index]
            justify = "right" if one.right else "left"
            overflow = "ellipsis" if self._cut else "fold"
            table.add_column(Text(one.name), justify=justify, overflow=overflow, no_wrap=one.whole or self._cut)
        for cells, style, ends in self._rows:
            shown = [cell if isinstance(cell, Text) else Text(cell) for cell in cells]
            table.add_row(*(shown[index] for index in kept), style=style, end_section=ends)
        return table


def figures_table(title: str, rows: Iterable[tuple[str, str]] = ()) -> FittingTable:
    """What was measured, and what came out."""
    table = FittingTable((TableColumn("measured"), TableColumn("figure", right=True)), title)
    for row in rows:
        table.add(*row)
    return table
