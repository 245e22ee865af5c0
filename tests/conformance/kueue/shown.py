"""How a Workload object stands in the cluster, compared with how it was recorded: conditions, quota, evictions, events."""

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from projections.workloads.in_cluster import News
from projections.workloads.lifecycle import Workload
from services.applier.events.workload_events import workload_events
from services.applier.manifests import workload_status
from services.applier.plan import requests_shown
from tests.conformance.difference import first_difference
from tests.conformance.kueue.case_world import CaseWorld

Case = dict[str, Any]

MERGE_PATCH = "WorkloadRequestUseMergePatch"


def under_all_gates(case: Case, check: Callable[[Case], str | None]) -> str | None:
    """The first difference under the case's own gates and under those of each of its variants."""
    for one in ({"feature_gates": {}, "want": {}}, *(case.get("variants") or ())):
        gates = one["feature_gates"]
        under = {
            **case,
            "gates_non_default": {**case["gates_non_default"], **gates},
            "want": {**case["want"], **one["want"]},
            "observed": None if gates else case.get("observed"),  # The run under the case's own gates was observed.
        }
        found = check(under)
        if found is not None:
            return f"{gates}: {found}" if gates else found
    return None


def all_shown(at: CaseWorld, recorded: list[Case], *, without: Collection[str] = ()) -> str | None:
    """The first difference between all Workload objects and how they were recorded; some may be in no record."""
    found = {key: _object(at, one) for key, one in at.world.workloads.items() if key not in without}
    wanted = {
        key_of(one): {"active": one["spec"].get("active", True), **plain(one.get("status") or {})} for one in recorded
    }
    return first_difference(wanted, found)


def _object(at: CaseWorld, workload: Workload) -> Case:
    """The object as it was recorded, with what the cycle has changed: what puts workloads in line is recorded elsewhere."""
    before = by_part(at.recorded[workload.key].get("status") or {})
    lined, after = (
        by_part(workload_status(one, at.world.settings, requests_shown(at.world, one)))
        for one in (at.lined[workload.key], workload)
    )
    changed = {part for part in {*lined, *after} if lined.get(part) != after.get(part)}
    kept = {part: value for part, value in before.items() if part not in changed}
    return _whole({**kept, **{part: after[part] for part in changed if part in after}}, active=workload.spec.active)


def by_part(status: Case) -> dict[tuple[str, str], Any]:
    """A status by field, and its conditions by type."""
    found = plain(status)
    conditions = {("conditions", one["type"]): one for one in found.pop("conditions")}
    return {**conditions, **{(name, ""): value for name, value in found.items()}}


def _whole(parts: dict[tuple[str, str], Any], *, active: bool) -> Case:
    conditions = [parts[part] for part in sorted(parts) if part[0] == "conditions"]
    return {"active": active, "conditions": conditions} | {
        name: value for (name, _), value in parts.items() if name != "conditions"
    }


def events_told(at: CaseWorld, case: Case) -> str | None:
    """The first difference between the events that are told of the workloads, those of the passing run included."""
    want, observed = case["want"], case.get("observed") or {}
    found = sorted(
        _Told(at, key, "Warning" if one.warning else "Normal", one.reason, one.message).texts(messages=True)
        for key, workload in at.world.workloads.items()
        for one in told(workload)
    )
    for recorded, messages in (
        (want.get("events"), bool(want.get("compare_event_message"))),
        (observed.get("events") if not want.get("events") else None, True),
    ):
        if recorded is None or (not recorded and not messages):
            continue
        wanted = sorted(
            _Told(at, key_of({"metadata": one["key"]}), one["event_type"], one["reason"], one["message"]).texts(
                messages=messages
            )
            for one in recorded
        )
        as_told = [one if messages else (*one[:3], "") for one in found]
        if wanted and as_told != wanted:
            return f"events: {as_told}, recorded {wanted}"
    return None


class _Told(NamedTuple):
    at: CaseWorld
    about: str
    kind: str
    reason: str
    message: str

    def texts(self, *, messages: bool) -> tuple[str, str, str, str]:
        """What is compared: how long somebody waited who was never created is nothing that could be reckoned."""
        message = self.message if messages else ""
        if not self.at.world.workloads[self.about].created_at:
            message = _WAITED.sub(_WAITED_FOR_EVER, message)
        return self.about, self.kind, self.reason, message


_WAITED = re.compile(r"since queued was -?\d+s")
_WAITED_FOR_EVER = "since queued was unknown"


def told(workload: Workload) -> Iterator[News]:
    """What the applier tells of a workload."""
    yield from (one for one in workload.in_cluster.news if one.sequence > workload.applied)
    yield from workload_events(workload)


def key_of(value: Case) -> str:
    """The key of an object."""
    return f"{value['metadata'].get('namespace', '')}/{value['metadata']['name']}"


def plain(status: Case) -> Case:
    """A status as far as records compare it: no times, no order of conditions, nothing that is empty."""
    found = {name: value for name, value in status.items() if value}
    found["conditions"] = sorted((untimed(one) for one in found.get("conditions", ())), key=lambda one: one["type"])
    for name in ("admissionChecks", "preemptionGates"):
        if name in found:
            found[name] = [untimed(one) for one in found[name]]
    if "admission" in found:
        assignments = [untimed(one) for one in found["admission"].get("podSetAssignments", ())]
        found["admission"] = {**found["admission"], "podSetAssignments": assignments}
    if "schedulingStats" in found:
        counts = found["schedulingStats"]["evictions"]
        found["schedulingStats"] = sorted(counts, key=lambda one: (one["reason"], one["underlyingCause"]))
    if "requeueAt" in found.get("requeueState", {}):
        # Recorded cases hold times here that Kueue's own rule can't give, so the record compares only that there is one.
        found["requeueState"] = {**found["requeueState"], "requeueAt": "set"}
    return found


def untimed(value: Case) -> Case:
    """A part of a status without its time and what is empty."""
    return {
        name: one for name, one in value.items() if name != "lastTransitionTime" and one not in (0, "", None, {}, [])
    }
