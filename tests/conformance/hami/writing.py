"""Checks of cases about what is changed of a pod: the webhook's patches and the annotations for its cards."""

from typing import Any

from projections.devices.annotations.allocated_cards import ASSIGNED_NODE
from projections.devices.annotations.index_annotations import PinContext
from projections.devices.annotations.pod_annotations import card_annotations
from projections.devices.requests.admission_rule import Applicant, judge
from tests.conformance.difference import first_difference
from tests.conformance.hami.asking import asked_in, quantities
from tests.conformance.hami.shapes import containers_in, limits_in, vendor_of, vendors_in

Case = dict[str, Any]
TIME = "<time>"


def patch_annotations(case: Case) -> str | None:
    """What one vendor writes on a pod; a key that HAMi's test had not registered stands as the empty text."""
    given = case["in"]
    vendor = vendor_of(given)
    containers = (given["devices"] or {}).get(vendor.word)
    annotations = given["pod"]["annotations"] or {}
    before, containers_of = given["before"] or {}, given["pod"]["containers"]
    place = PinContext(
        at=TIME,
        node=before.get(ASSIGNED_NODE, ""),
        names=tuple(row["name"] for row in containers_of),
        by_count=tuple(vendor.resources.count in row["limits"] for row in containers_of),
    )
    found = card_annotations(vendor, containers_in(containers), annotations, place) if containers else {}
    expected = dict(case["out"]["annotations"])
    if "" in expected:
        expected[vendor.to_allocate] = expected[vendor.allocated] = expected.pop("")
    return first_difference(expected, {**(given["before"] or {}), **found})


def webhook(case: Case) -> str | None:
    """The verdict on a pod and what is changed of it."""
    given = case["in"]
    env, pod = given["env"], given["pod"]
    every = [*pod["init_containers"], *pod["containers"]]
    verdict = judge(
        Applicant(
            init_containers=tuple(asked_in(row) for row in pod["init_containers"]),
            containers=tuple(asked_in(row) for row in pod["containers"]),
            privileged=any(row.get("privileged") for row in every),
            annotations=pod["annotations"] or {},
            scheduler=pod.get("scheduler_name", ""),
            node=pod.get("node_name", ""),
        ),
        vendors_in(env),
        limits_in(env["quota"].get(pod["namespace"], {})),
        scheduler=given["scheduler_name"],
        force=given["force_overwrite_default_scheduler"],
    )
    patches: list[Case] = []
    for kind, before, after in (
        ("initContainers", pod["init_containers"], verdict.init_containers),
        ("containers", pod["containers"], verdict.containers),
    ):
        for place, (row, asked) in enumerate(zip(before, after, strict=False)):
            old = quantities(row["limits"])
            patches += [
                {
                    "op": "replace" if name in old else "add",
                    "path": f"/spec/{kind}/{place}/resources/limits/{name.replace('~', '~0').replace('/', '~1')}",
                    "value": str(value),
                }
                for name, value in sorted(asked.limits.items())
                if old.get(name) != value
            ]
    if verdict.allowed and verdict.scheduler != pod.get("scheduler_name", ""):
        operation = "replace" if pod.get("scheduler_name") else "add"
        patches.append({"op": operation, "path": "/spec/schedulerName", "value": verdict.scheduler})
    return first_difference(
        case["out"],
        {"allowed": verdict.allowed, "code": verdict.code, "patches": patches if verdict.allowed else []},
    )
