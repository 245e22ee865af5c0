"""Finds the recorded cases in a folder and tells their schema by what is in the files."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tests.conformance.hami.suites import hami_suite
from tests.conformance.runner import Case, Suite, read_json

KUEUE_SUITES = "tests.conformance.kueue.suites"


def suites_in(folder: Path) -> Iterator[Suite]:
    """All suites in the folder and its subfolders `hami` and `kueue`, by name."""
    for home in (folder, folder / "hami", folder / "kueue"):
        if home.is_dir():
            yield from (suite for path in sorted(home.glob("*.json")) for suite in _suites_of(path))


def _suites_of(path: Path) -> Iterator[Suite]:
    document = read_json(path)
    if isinstance(document, dict) and "kind" in document and "cases" in document:
        yield hami_suite(path, document)
    elif isinstance(document, list) and path.stem.startswith("Test"):
        if find_spec(KUEUE_SUITES.rpartition(".")[0]) and find_spec(KUEUE_SUITES):
            yield import_module(KUEUE_SUITES).kueue_suite(path, document)
        else:
            yield _unchecked(path, document)


def _unchecked(path: Path, cases: list[Case]) -> Suite:
    """Cases that nobody has written a check for yet: they are told, not passed over."""
    named = [(f"{path.stem}/{case['name']}", case) for case in cases]
    return Suite(name=path.stem, path=path, cases=named, check=None, why_not=lambda case: None)
