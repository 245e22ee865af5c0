"""Recorded cases of Kueue's own tests, checked with the production functions: the suites that pass completely."""

import msgspec
import pytest

from tests.conformance.kueue.suites import CHECKS, kueue_suite
from tests.conformance.runner import run_suite
from tests.places import CONFORMANCE

FOLDER = CONFORMANCE / "kueue"

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"no recorded cases at {FOLDER}: set KUELOG_CONFORMANCE to the folder that holds kueue/"
)


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_kuelog_decides_as_kueue_did(name: str) -> None:
    path = FOLDER / f"{name}.json"
    if not path.exists():
        pytest.skip(f"no recorded cases of {name}")
    outcome = run_suite(kueue_suite(path, msgspec.json.decode(path.read_bytes())))
    assert outcome.failed == {}
    assert outcome.passed == outcome.total
