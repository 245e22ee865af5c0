"""A table fits what it is printed on: what matters least is left out and named, and a pipe gets everything."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from ops.terminal.table import FittingTable, TableColumn, figures_table, number

DIGEST = "9f" * 32
COLUMNS = (TableColumn("job"), TableColumn("place", 1, whole=True), TableColumn("why", 2), number("cards", 3))


def printed(table: FittingTable, width: int) -> list[str]:
    told = io.StringIO()
    Console(file=told, width=width).print(table)
    return told.getvalue().splitlines()


def example() -> FittingTable:
    table = FittingTable(COLUMNS, "Who waits")
    table.add("team/training", "LOG_0 123456", "insufficient unused quota for nvidia.com/gpu, 3 more needed", "12")
    return table


@pytest.mark.parametrize(
    ("width", "shown", "left_out"),
    [
        (200, ["job", "place", "why", "cards"], ""),
        (70, ["job", "place", "why", "cards"], ""),
        (62, ["job", "place", "why"], "cards"),
        (50, ["job", "place"], "why, cards"),
        (29, ["job"], "place, why, cards"),
    ],
)
def test_columns_go_by_rank_where_there_is_no_room(width: int, shown: list[str], left_out: str) -> None:
    lines = printed(example(), width)
    assert lines[2].split() == shown
    assert max(map(cell_len, lines)) <= width
    assert (f"no room for {left_out}:" in " ".join(" ".join(lines).split())) is bool(left_out)


def test_what_may_not_be_broken_stands_on_one_line() -> None:
    table = FittingTable((TableColumn("stream"), TableColumn("root", whole=True)))
    table.add("a stream with a long name that is broken where it has to be", DIGEST)
    lines = printed(table, 90)
    assert sum(DIGEST in line for line in lines) == 1
    assert max(map(cell_len, lines)) <= 90


def test_no_cell_is_taken_for_markup_and_a_sum_stands_below_a_line() -> None:
    table = FittingTable((TableColumn("[bold]"), number("n")))
    table.add("[red]x[/red]", "1")
    table.end_section()
    table.add("total", "1", style="bold")
    told = "\n".join(printed(table, 80))
    assert "[bold]" in told and "[red]x[/red]" in told
    assert told.index("x") < told.index("total")


def test_figures_are_broken_rather_than_cut() -> None:
    lines = printed(figures_table("measured", [("time to admission", "p50 1.0 s, p99 2.0 s, " * 6)]), 60)
    assert max(map(cell_len, lines)) <= 60
    assert " ".join(lines).count("p99") == 6
