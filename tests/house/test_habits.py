"""What people are told about the repository is true of it."""

import re
from importlib.metadata import version

import pytest
from hypothesis import HealthCheck, settings

from tests.coverage_of_rules import FLOORS
from tests.figures import lines
from tests.mutants.areas import AREAS
from tests.places import ROOT

OLD_NAMES = "0040-rooms-by-noun.md"
PAGES = [
    str(page.relative_to(ROOT))
    for page in sorted([ROOT / "CONTRIBUTING.md", ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    if page.name != OLD_NAMES
]
PATH = re.compile(r"`((?:events|projections|services|ops|tests|docs)/[\w/.-]*)`")


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_a_page_names_is_there(page: str) -> None:
    named = PATH.findall((ROOT / page).read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_a_run_ends_with_the_version_and_the_figures_that_were_measured_last() -> None:
    said = lines()
    assert said[0] == f"kuelog {version('kuelog')}"
    coverage, mutants = said[1:]
    assert all(re.search(rf"\b{floor} \d+\.\d %", coverage) for floor in FLOORS)
    assert all(f"{area} " in mutants for area in AREAS)
    assert "python -m tests.figures" in (ROOT / "Makefile").read_text()


def test_in_ci_no_example_has_a_deadline_and_each_change_is_held_against_the_same() -> None:
    assert "HYPOTHESIS_PROFILE=ci" in (ROOT / ".ci" / "run").read_text()
    profile = settings.get_profile("ci")
    assert profile.deadline is None
    assert HealthCheck.too_slow in profile.suppress_health_check
    assert profile.derandomize, (
        "what fails there fails by the change: others are drawn by whoever runs `make test` himself"
    )
    assert not settings.get_profile("default").derandomize
