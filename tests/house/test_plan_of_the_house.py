"""The plan of the house in docs/architecture.md is that of the code: each room, in its order, with what it says of itself."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.places import ROOT

PLAN = ROOT / "docs" / "architecture.md"


def rooms() -> Iterator[Path]:
    for floor in ("events", "projections", "services", "ops"):
        yield from sorted(one.parent for one in (ROOT / floor).rglob("__init__.py"))


def row(room: Path) -> str:
    said = ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""
    name = f"`{room.relative_to(ROOT)}/`"
    return f"| {name if room.parent != ROOT else f'**{name}**'} | {said.partition(chr(10))[0].rstrip('.')} |"


def test_the_plan_of_the_house_shows_every_room_with_what_it_says_of_itself() -> None:
    drawn = "\n".join(["| folder | what it is |", "|---|---|", *map(row, rooms())])
    assert drawn in PLAN.read_text(), f"write in {PLAN.name}:\n{drawn}"
