"""Public docstrings of the lower floors say what a thing is for, not its name once more."""

import ast
from collections.abc import Iterator

import pytest

from tests.places import ROOT

FEWEST_WORDS = 5
Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def too_short(text: str) -> Iterator[str]:
    for one in ast.walk(ast.parse(text)):
        if isinstance(one, Defined) and not one.name.startswith("_"):
            said = ast.get_docstring(one)
            if said is not None and len(said.split()) < FEWEST_WORDS:
                yield f"{one.name}: {said}"


@pytest.mark.parametrize("floor", ["projections", "services"])
def test_no_public_docstring_is_a_mere_name(floor: str) -> None:
    found = {
        str(file.relative_to(ROOT)): short
        for file in sorted((ROOT / floor).rglob("*.py"))
        if (short := list(too_short(file.read_text())))
    }
    assert found == {}


def test_a_mere_name_is_found() -> None:
    assert list(too_short('def heads() -> None:\n    """The heads."""\n')) == ["heads: The heads."]
