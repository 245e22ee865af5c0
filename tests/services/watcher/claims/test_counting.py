"""Tables of claims for the rules in docs/rules/claims.md: what each comes to in units of quota, or why it can't be counted."""

from pathlib import Path

import msgspec
import pytest
import yaml

from events.api.pods import PodTemplate
from events.json_object import JsonObject
from events.pod_set import PodSet
from events.workload import WorkloadSpec
from ops.production.device_selectors import DeviceSelectors
from services.watcher.claims.claim_book import ClaimBook
from services.watcher.fields.pod_shapes import pod_shape
from tests.services.watcher.claims.claim_objects import device_class, pod_spec, resource_slice, settings, template

CASES = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text())
SELECTORS = DeviceSelectors()


def counted(case: JsonObject) -> WorkloadSpec:
    book = ClaimBook(settings(case.get("mappings", {}), case.get("gates")), SELECTORS)
    for name, says in case.get("classes", {}).items():
        book.see("DeviceClass", device_class(name, **says))
    for name, requests in case.get("templates", {}).items():
        book.see("ResourceClaimTemplate", template(name, requests))
    for name, says in case.get("slices", {}).items():
        book.see("ResourceSlice", resource_slice(name, **says))
    pod_sets = [
        PodSet(name=name, count=3, shape=pod_shape(msgspec.convert({"spec": pod_spec(says)}, PodTemplate), name))
        for one in case["pods"]
        for name, says in one.items()
    ]
    return book.counted("default/w", WorkloadSpec(queue="lq", pod_sets=tuple(pod_sets)))


@pytest.mark.parametrize("case", CASES, ids=[f"{case['rule']}: {case['when']}" for case in CASES])
def test_claims_come_to_what_their_rule_says(case: JsonObject) -> None:
    spec = counted(case)
    for word in case.get("refused_with", ()):
        assert word in spec.claims_refused
    if "refused_with" not in case:
        assert spec.claims_refused == case.get("refused", "")
    assert {one.name: one.claims.charged for one in spec.pod_sets if one.claims} == case.get("charged", {})
    replaced = {one.name: list(one.claims.replaced) for one in spec.pod_sets if one.claims and one.claims.replaced}
    assert replaced == case.get("replaced", {})
