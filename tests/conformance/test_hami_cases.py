"""Every recorded device case, one test per kind."""

import os
from pathlib import Path

import pytest

from tests.conformance.folders import suites_in
from tests.conformance.runner import Suite, run_suite

CASES = Path(os.environ.get("KUELOG_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance")) / "hami"
SUITES = list(suites_in(CASES)) if CASES.is_dir() else []


@pytest.mark.skipif(not SUITES, reason=f"no recorded cases in {CASES}; set KUELOG_CONFORMANCE to their folder")
@pytest.mark.parametrize("suite", SUITES, ids=[suite.name for suite in SUITES])
def test_kuelog_says_what_hami_said(suite: Suite) -> None:
    outcome = run_suite(suite)
    assert outcome.failed == {}
    assert outcome.passed == outcome.total
    assert outcome.passed + len(outcome.out_of_scope) == len(suite.cases)
