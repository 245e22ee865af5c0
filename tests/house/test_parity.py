"""No feature of Kueue is forgotten in docs/parity.md, and what a row names is there: a page, an anchor, tests."""

import os
import re
from pathlib import Path

import pytest
import yaml

from tests.house.test_rules import anchors_of, named_in
from tests.places import ROOT, SHARED

PAGE = ROOT / "docs" / "parity.md"
ROWS = re.compile(
    r'^\| <a id="([a-z0-9-]+)"></a>(.+?) \| (yes|partly|no)\b(.*?) \| \[[\w-]+\]\(([\w/.-]+?)(?:#([\w-]+))?\) \| (.*) \|$',
    re.MULTILINE,
)
TEST = re.compile(r"`(tests/[\w/]+\.(?:py|yaml))::([\w-]+)`")
FEATURES: dict[str, str] = yaml.safe_load((Path(__file__).parent / "parity.yaml").read_text())
"""By the anchor of a row, the feature of Kueue that it is about."""
LISTED = next(iter(sorted((SHARED / "reference").glob("*-features.md"))), None)
KUEUE_FEATURES = os.environ.get("KUELOG_KUEUE_FEATURES", "" if LISTED is None else str(LISTED))
"""A list of them, which is not part of the project: rows whose first column is the feature."""
_HEADS = ("feature", "integration", "seed claim")


def rows() -> list[tuple[str, ...]]:
    return ROWS.findall(PAGE.read_text())


def test_every_feature_has_a_row_and_every_row_a_feature() -> None:
    found = [anchor for anchor, *_ in rows()]
    assert found == list(FEATURES)
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|") and "<a id=" in line]
    assert len(lines) == len(found), "a row that is spelled otherwise"


@pytest.mark.parametrize("row", rows(), ids=lambda row: str(row[0]))
def test_a_row_names_a_page_and_tests_that_are_there(row: tuple[str, ...]) -> None:
    _, _, stands, more, page, anchor, tests = row
    target = PAGE.parent / page
    assert target.exists() and (not anchor or anchor in anchors_of(target))
    named = TEST.findall(tests)
    assert [f"{path}::{name}" for path, name in named if name not in named_in(path)] == []
    assert stands == "no" or named, "what is there has a test"
    assert stands != "partly" or len(more) > len(": it"), "what lacks is said"


@pytest.mark.skipif(not KUEUE_FEATURES, reason="KUELOG_KUEUE_FEATURES names no list of Kueue's features")
def test_the_features_are_those_of_kueue() -> None:
    lines = Path(KUEUE_FEATURES).read_text().splitlines()
    cells = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    assert [cell for cell in cells if cell not in _HEADS] == list(FEATURES.values())
