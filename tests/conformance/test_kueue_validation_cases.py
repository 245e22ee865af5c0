"""Every recorded case of the validating webhooks, one test per suite."""

import os
from pathlib import Path

import pytest

from tests.conformance.folders import suites_in
from tests.conformance.kueue.validation import VALIDATION_SUITES
from tests.conformance.runner import Suite, run_suite

CASES = Path(os.environ.get("KUELOG_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance")) / "kueue"
SUITES = [suite for suite in suites_in(CASES) if suite.name in VALIDATION_SUITES] if CASES.is_dir() else []


@pytest.mark.skipif(not SUITES, reason=f"no recorded cases in {CASES}; set KUELOG_CONFORMANCE to their folder")
@pytest.mark.parametrize("suite", SUITES, ids=[suite.name for suite in SUITES])
def test_kuelog_refuses_what_kueue_refuses(suite: Suite) -> None:
    outcome = run_suite(suite)
    assert outcome.failed == {}
    assert outcome.passed == outcome.total == len(suite.cases)
