import ast
from importlib.metadata import distributions
from pathlib import Path

import pytest

from tests.places import ROOT

ROOMS = ("events", "projections", "services", "ops")
FILES = [file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))]
LONGEST = 400


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_holds_one_concept_says_which_and_is_not_long(file: Path) -> None:
    text = file.read_text()
    assert ast.get_docstring(ast.parse(text)), "the first lines say what the file is for"
    assert len(text.splitlines()) <= LONGEST, "two nouns: split it"
    assert file.stem not in {"utils", "helpers", "common", "base", "types", "models", "manager"}


def test_no_other_distribution_owns_our_rooms() -> None:
    owners = {
        str(one.metadata["Name"])
        for one in distributions()
        for path in one.files or ()
        if path.parts and path.parts[0] in ROOMS and path.suffix == ".py"
    }
    assert owners <= {"kuelog"}


def test_names_are_imported_from_modules_never_a_whole_room() -> None:
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                assert not {name.name for name in node.names} & set(ROOMS), file
