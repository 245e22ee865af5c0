"""Pods that no job starts and stops, alone or as groups, as workloads."""

from collections.abc import Sequence
from typing import Any

from events.api.meta import ApiStruct, ObjectMeta
from events.api.pods import PodTemplate
from events.pod_set import PodSet
from events.workload import Member, MemberState, Owner, WorkloadSpec
from services.jobs import pods as rules
from services.jobs.paths import FieldBroken, get
from services.watcher.cluster_objects import created_at, read
from services.watcher.jobs import (
    DECISION,
    GATED_BY,
    MAX_EXEC,
    NEVER_PREEMPT,
    QUEUE,
    JobState,
    Surroundings,
    names_in,
    number_in,
    own_parameters,
    priority_of,
    workload_name,
)
from services.watcher.pod_shapes import pod_shape
from services.watcher.problems import Refused, problem

Plain = dict[str, Any]
_MAIN = "main"


class _Headed(ApiStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta


class PodGroups:
    """The managed pods that are there, by the place of what they are part of."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, Plain]] = {}
        self._places: dict[str, str] = {}

    def see(self, value: Plain, around: Surroundings) -> str:
        """Take note of a pod; the place of the workload that has to be looked at again, or nothing."""
        meta = read(value, _Headed).metadata
        key = f"{meta.namespace}/{meta.name}"
        if key not in self._places and (
            not rules.is_managed(value) or not (meta.labels or {}).get(QUEUE) or around.goes_with_owner(meta)
        ):
            return ""
        group = rules.group_of(value)
        place = f"PodGroup/{meta.namespace}/{group}" if group else f"Pod/{key}"
        self._places[key] = place
        self._pods.setdefault(place, {})[meta.name] = value
        return place

    def lose(self, namespace: str, name: str) -> str:
        """Forget a pod; the place of the workload that has to be looked at again, or nothing."""
        place = self._places.pop(f"{namespace}/{name}", "")
        self._pods.get(place, {}).pop(name, None)
        if place and not self._pods[place]:
            del self._pods[place]
        return place

    def known(self, place: str) -> bool:
        """Whether any pod of it is there."""
        return place in self._pods

    def state(self, place: str, around: Surroundings, *, known: bool) -> JobState | None:
        """The workload as it stands; None while pods are missing at first, and when none is left. Raises `Refused`."""
        found = sorted(self._pods.get(place, {}).values(), key=_age)
        try:
            return _state(found, around, known=known) if found else None
        except FieldBroken as broken:
            raise Refused([problem(broken.field, broken.message, broken.instead)]) from broken


def _state(found: Sequence[Plain], around: Surroundings, *, known: bool) -> JobState | None:
    first = found[0]
    meta = read(first, _Headed).metadata
    group = rules.group_of(first)
    total = rules.total_of(first) if group else 1
    missing = total - len(found)
    if missing > 0 and not known and not rules.comes_one_by_one(first):
        return None
    pod_sets = _pod_sets(found, group, max(missing, 0))
    members = _members(found, group, {one.name: one.count for one in pod_sets})
    priority, reference = priority_of(meta, get(first, ("spec", "priorityClassName")), around)
    seconds = number_in(meta.labels or {}, MAX_EXEC, "metadata.labels")
    name = group or workload_name("Pod", "", meta.name, meta.uid)
    live = [one for one in members if one.state is not MemberState.OVER]
    marks = [mark for one in found if (mark := rules.annotations_of(one).get(DECISION))]
    return JobState(
        workload=f"{meta.namespace}/{name}",
        uid=meta.uid,
        owner=Owner(kind="PodGroup" if group else "Pod", name=group or meta.name, uid=meta.uid, api_version="v1"),
        created_at=created_at(meta),
        spec=WorkloadSpec(
            queue=(meta.labels or {})[QUEUE],
            pod_sets=pod_sets,
            priority=priority,
            priority_class=reference,
            max_execution=None if seconds is None else seconds * 1000,
            gated_by=names_in(meta, GATED_BY),
            never_preempt="true"
            in ((meta.labels or {}).get(NEVER_PREEMPT), (meta.annotations or {}).get(NEVER_PREEMPT)),
            members=members,
            provisioning=own_parameters(meta),
        ),
        # What was injected stays in a pod, and pods that come later are of the same shapes.
        started=known,
        marked=True,
        ready=None if any(rules.is_gated(one) for one in found) or missing > 0 else all(map(rules.is_ready, found)),
        gone=marks[-1] if marks and not live else None,
        reclaimed=_succeeded_by_set(found, group) if group and not rules.serves(first) else {},
        finished=None if rules.serves(first) else _finished(found, total, group),
    )


def _pod_sets(found: Sequence[Plain], group: str, missing: int) -> tuple[PodSet, ...]:
    """One pod set for each role, in the order of their first pods; those that are still to come are like the first."""
    shapes: dict[str, Plain] = {}
    counts: dict[str, int] = {}
    for one in found:
        role = rules.role_of(one) if group else _MAIN
        shapes.setdefault(role, one)
        counts[role] = counts.get(role, 0) + 1
    counts[next(iter(counts))] += missing
    return tuple(
        PodSet(name=role, count=counts[role], shape=pod_shape(read(shapes[role], PodTemplate), "pod"))
        for role in shapes
    )


def _members(found: Sequence[Plain], group: str, room: dict[str, int]) -> tuple[Member, ...]:
    """The pods that count; those that are too many for their role wait, and count for nothing."""
    members: list[Member] = []
    left = dict(room)
    for one in found:
        meta = one["metadata"]
        role = rules.role_of(one) if group else _MAIN
        if rules.is_leaving(one) and rules.is_gated(one):
            continue
        if left.get(role, 0) > 0:
            left[role] -= 1
            members.append(Member(name=meta["name"], uid=meta.get("uid", ""), pod_set=role, state=_how_far(one)))
    return tuple(members)


def _how_far(pod: Plain) -> MemberState:
    if rules.is_over(pod):
        return MemberState.OVER
    return MemberState.GATED if rules.is_gated(pod) else MemberState.LIVE


def _finished(found: Sequence[Plain], total: int, group: str) -> tuple[str, str] | None:
    over = [one for one in found if rules.is_over(one)]
    succeeded = sum(1 for one in over if get(one, ("status", "phase")) == "Succeeded")
    if succeeded >= total:
        return "Succeeded", f"Pods succeeded: {succeeded}/{total}" if group else "Job finished successfully"
    final = not group or any(rules.annotations_of(one).get(rules.RETRIABLE) == "false" for one in found)
    if final and len(over) == len(found) and over:
        message = str(get(over[0], ("status", "message")) or "")
        return "Failed", f"Pods succeeded: {succeeded}/{total}" if group else message
    return None


def _succeeded_by_set(found: Sequence[Plain], group: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in found:
        if group and get(one, ("status", "phase")) == "Succeeded":
            counts[rules.role_of(one)] = counts.get(rules.role_of(one), 0) + 1
    return counts


def _age(pod: Plain) -> tuple[str, str]:
    meta = pod["metadata"]
    return str(meta.get("creationTimestamp", "")), str(meta["name"])
