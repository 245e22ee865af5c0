"""docs/deploy.md has every value that an installation may choose, and no other."""

import re
from collections.abc import Iterator, Mapping

from ops.production.deploy.chart import CHOICES
from tests.places import ROOT

OF_THE_CHART_OF_NATS = {"nats.enabled"}


def told() -> Iterator[str]:
    """The first cells of the table of values; `.name` goes on from the value before it."""
    table = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8").split("| value | |")[1].split("\n\n")[0]
    for row in table.splitlines()[2:]:
        part = ""
        for name in re.findall(r"`([^`]+)`", row.split(" | ")[0]):
            part = part if name.startswith(".") else name.partition(".")[0]
            yield f"{part}{name}" if name.startswith(".") else name


def choices() -> Iterator[str]:
    for name, value in CHOICES.items():
        yield name
        yield from (f"{name}.{below}" for below in value) if isinstance(value, Mapping) else ()


def test_the_page_has_every_value_and_no_other() -> None:
    named = set(told())
    assert named - OF_THE_CHART_OF_NATS <= set(choices())
    untold = {one for one in choices() if one not in named and one.partition(".")[0] not in named}
    assert {one for one in untold if not any(other.startswith(f"{one}.") for other in named)} == set()


def test_every_value_says_what_it_is_for() -> None:
    table = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8").split("| value | |")[1].split("\n\n")[0]
    assert [row for row in table.splitlines()[2:] if row.split(" | ", 1)[-1].strip("| ") == ""] == []
