"""Runs folders of recorded cases through kuelog's own functions and counts what agrees."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

Case = dict[str, Any]
Check = Callable[[Case], str | None]
"""Gives the first difference of a case, or None when kuelog says what was recorded."""


class Suite(msgspec.Struct, kw_only=True):
    """One file of cases, and how each of them is checked."""

    name: str
    path: Path
    cases: list[tuple[str, Case]]
    check: Check | None
    why_not: Callable[[Case], str | None]
    """Why a case is out of scope, or None."""


class Outcome(msgspec.Struct, kw_only=True):
    """What came of one suite: names of failing cases with their first difference, and cases left out."""

    name: str
    passed: int = 0
    total: int = 0
    failed: dict[str, str] = {}
    out_of_scope: dict[str, str] = {}


def run_suite(suite: Suite) -> Outcome:
    """Check every case of a suite."""
    outcome = Outcome(name=suite.name)
    for name, case in suite.cases:
        reason = suite.why_not(case)
        if reason is not None:
            outcome.out_of_scope[name] = reason
            continue
        outcome.total += 1
        difference = f"no check for {suite.name}" if suite.check is None else _checked(suite.check, case)
        if difference is None:
            outcome.passed += 1
        else:
            outcome.failed[name] = difference
    return outcome


def _checked(check: Check, case: Case) -> str | None:
    try:
        return check(case)
    except Exception as problem:  # noqa: BLE001 - a crash is a failing case like any other; the rest goes on
        return f"raised {type(problem).__name__}: {problem}"


def report(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """The result in the form that is written to `--json`."""
    suites: dict[str, Any] = {}
    out_of_scope: dict[str, str] = {}
    for outcome in outcomes:
        suites[outcome.name] = {"passed": outcome.passed, "total": outcome.total, "failed": sorted(outcome.failed)}
        out_of_scope.update(outcome.out_of_scope)
    return {"suites": suites, "out_of_scope": out_of_scope}


def read_json(path: Path) -> Any:
    """A file of cases."""
    with path.open(encoding="utf-8") as file:
        return json.load(file)
