"""A single pod, or the pods of a group, as one workload: what they request, and their status."""

from collections.abc import Sequence

import msgspec

from events.api.labels import (
    ADMISSION_GATED_BY,
    MAX_EXEC_TIME_SECONDS,
    POD_GROUP_POD_INDEX,
    POD_GROUP_TOTAL_COUNT,
    PREBUILT_WORKLOAD_NAME,
    QUEUE_NAME,
    RETRIABLE_IN_GROUP,
    USER,
)
from events.api.meta import ApiStruct, ObjectMeta
from events.api.pods import PodTemplate
from events.json_object import JsonObject
from events.json_path import FieldBroken, get
from events.pod_set import PodSet
from events.workload import MemberState, Owner, WorkloadSpec
from services.jobs.kinds import pods as rules
from services.jobs.pod_sets.pod_set import PodIndex
from services.jobs.topology.topology_request import topology_request
from services.jobs.workload_name import workload_name
from services.validation.unsupported import asked_in
from services.watcher.fields.object_reading import created_at, read
from services.watcher.fields.pod_shapes import pod_shape
from services.watcher.jobs.jobs import (
    JobState,
    Surroundings,
    copied_labels,
    names_in,
    never_preempts,
    number_in,
    own_parameters,
    priority_of,
)
from services.watcher.pods.pod_members import GroupMembers, counts_on, group_members, members_of
from services.watcher.workloads.reported_state import ReportedState

_MAIN = "main"
_MOST_SHAPES = 8


class _Headed(ApiStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta


def pod_state(found: Sequence[JsonObject], around: Surroundings, reported: ReportedState | None) -> JobState | None:
    """The workload of pods, oldest first; None where there is none of them to count on. Raises `Refused`, `FieldBroken`.

    Rule: docs/jobs.md#pods
    """
    if reported is not None:
        group = members_of_group(found, reported)
        if group.kept:
            return _state(group, reported.spec.pod_sets, around, reported)
    # Where all places are empty, other pods have taken the group's name.
    group = _gathered(found)
    if not group.kept:
        if group.missing and reported is None and not rules.has_parent(found[0]):
            raise FieldBroken(
                f"metadata.annotations[{POD_GROUP_TOTAL_COUNT}]",
                f"'{rules.group_of(found[0])}' group has fewer runnable pods than expected",
                "how many pods the group has, or create the others",
            )
        return None
    pod_sets = _pod_sets(group, around)
    return msgspec.structs.replace(_state(group, pod_sets, around, None), anew=reported is not None)


def members_of_group(found: Sequence[JsonObject], reported: ReportedState) -> GroupMembers:
    """The pods of a group that is known, in the places that it has."""
    return group_members(found, {one.name: one.count for one in reported.spec.pod_sets}, _role)


def excess_of(found: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
    """The pods of a new group that there are too many of; none while it is unknown what it asks for."""
    try:
        return _gathered(found).excess
    except FieldBroken:
        return ()


def _gathered(found: Sequence[JsonObject]) -> GroupMembers:
    """The pods of a new group, where it may begin, or how many of them are missing. Raises `FieldBroken`."""
    able = [one for one in found if counts_on(one)]
    if not able:
        return GroupMembers()
    if not rules.group_of(able[0]):
        return GroupMembers(kept=tuple(able))
    _check_alike(able)
    group = group_members(able, {"": rules.total_of(able[0])}, lambda _: "")
    if not group.missing or rules.comes_one_by_one(able[0]):
        return group
    _check_waiting(able)
    return GroupMembers(missing=group.missing)


def _check_waiting(pods: Sequence[JsonObject]) -> None:
    """No pod runs of a group that is not whole yet. Raises `FieldBroken`.

    Rule: docs/rules/eviction.md#by-hand
    """
    for one in pods:
        if rules.runs_here(one):
            raise FieldBroken(
                f"metadata.annotations[{POD_GROUP_TOTAL_COUNT}]",
                f"pod {one['metadata']['name']} runs, and {len(pods)} of {rules.total_of(one)} pods of its group are there",
                "all of its pods, and leave their scheduling gate alone",
            )


def _check_alike(pods: Sequence[JsonObject]) -> None:
    """All pods of a group name the same queue and the same number of pods. Raises `FieldBroken`."""
    first, total = pods[0], rules.total_of(pods[0])
    queue, name = rules.labels_of(first).get(QUEUE_NAME), first["metadata"]["name"]
    for one in pods[1:]:
        other = rules.labels_of(one).get(QUEUE_NAME)
        pair = f"pods {name} and {one['metadata']['name']} of group {rules.group_of(one)}"
        if other != queue:
            raise FieldBroken(
                f"metadata.labels[{QUEUE_NAME}]",
                f"{pair} have different queue names: {queue} and {other}",
                "one for all",
            )
        if rules.total_of(one) != total:
            raise FieldBroken(
                f"metadata.annotations[{POD_GROUP_TOTAL_COUNT}]",
                f"{pair} have different values: {total} and {rules.total_of(one)}",
                "how many pods the group has",
            )


def _state(
    group: GroupMembers, pod_sets: tuple[PodSet, ...], around: Surroundings, reported: ReportedState | None
) -> JobState:
    first = group.kept[0]
    meta = read(first, _Headed).metadata
    labels = meta.labels or {}
    name = rules.group_of(first)
    prebuilt = "" if rules.waits_for_its_group(first) else labels.get(PREBUILT_WORKLOAD_NAME, "")
    members = members_of(group.kept, _role)
    begun = any(one.state is MemberState.LIVE for one in members)
    last = None if reported is None else reported.spec
    priority, reference = priority_of(meta, get(first, ("spec", "priorityClassName")), around, last)
    seconds = number_in(labels, MAX_EXEC_TIME_SECONDS, "metadata.labels")
    total = sum(one.count for one in pod_sets)
    one_by_one = rules.comes_one_by_one(first)
    return JobState(
        workload=f"{meta.namespace}/{prebuilt or name or workload_name('Pod', '', meta.name, meta.uid)}",
        prebuilt=bool(prebuilt),
        uid=meta.uid,
        owner=Owner(kind="PodGroup" if name else "Pod", name=name or meta.name, uid=meta.uid, api_version="v1"),
        created_at=created_at(meta),
        spec=WorkloadSpec(
            # Running pods stay where they were admitted.
            queue=reported.spec.queue if reported is not None and begun else labels.get(QUEUE_NAME, ""),
            pod_sets=pod_sets,
            priority=priority,
            priority_class=reference,
            max_execution=None if seconds is None else seconds * 1000,
            gated_by=names_in(meta, ADMISSION_GATED_BY),
            provisioning=own_parameters(meta),
            never_preempt=never_preempts(meta),
            labels=_copied(group.kept, around),
            user=labels.get(USER, ""),
            members=members,
            not_done=asked_in(first),
            waits_for_pods=bool(name) and group.missing > 0 and not (one_by_one and any(map(counts_on, group.kept))),
        ),
        # What was injected stays in a pod, and pods that come later are of the same shapes.
        started=reported is not None,
        marked=True,
        ready=None
        if all(map(rules.is_waiting, group.kept))
        else not group.missing and all(map(rules.is_ready, group.kept)),
        reclaimed=_succeeded_by_set(group.kept) if name and not rules.serves(first) else {},
        finished=None if rules.serves(first) else _finished(group.kept, total, name),
    )


def _copied(pods: Sequence[JsonObject], around: Surroundings) -> dict[str, str]:
    """The labels that the Workload gets as well. Raises `FieldBroken` when pods of a group contradict each other."""
    found: dict[str, str] = {}
    for one in pods:
        for name, value in copied_labels(rules.labels_of(one), around).items():
            if found.setdefault(name, value) != value:
                what = f"pods of group {rules.group_of(one)} have different values: {found[name]} and {value}"
                raise FieldBroken(f"metadata.labels[{name}]", what, "one for all")
    return found


def _pod_sets(group: GroupMembers, around: Surroundings) -> tuple[PodSet, ...]:
    """One pod set for each shape, in the order of their names; those that are still to come are like the first."""
    shapes: dict[str, JsonObject] = {}
    counts: dict[str, int] = {}
    for one in group.kept:
        shapes.setdefault(_role(one), one)
        counts[_role(one)] = counts.get(_role(one), 0) + 1
    if len(shapes) > _MOST_SHAPES:
        raise FieldBroken("spec", f"a pod group can't have more than {_MOST_SHAPES} shapes of pods", "fewer shapes")
    counts[_role(group.kept[0])] += group.missing
    return tuple(_pod_set(role, counts[role], shapes[role], around) for role in sorted(shapes))


def _pod_set(role: str, count: int, pod: JsonObject, around: Surroundings) -> PodSet:
    return PodSet(
        name=role,
        count=count,
        shape=pod_shape(read(pod, PodTemplate), "pod"),
        topology=topology_request(pod, PodIndex(label=POD_GROUP_POD_INDEX), around.settings),
    )


def _role(pod: JsonObject) -> str:
    return rules.role_of(pod) if rules.group_of(pod) else _MAIN


def _finished(kept: Sequence[JsonObject], total: int, group: str) -> tuple[str, str] | None:
    over = [one for one in kept if rules.is_over(one)]
    succeeded = sum(_phase(one) == "Succeeded" for one in over)
    if succeeded >= total:
        return "Succeeded", f"Pods succeeded: {succeeded}/{total}." if group else _message(over[0])
    final = not group or any(rules.annotations_of(one).get(RETRIABLE_IN_GROUP) == "false" for one in kept)
    if final and over and len(over) == len(kept):
        return "Failed", f"Pods succeeded: {succeeded}/{total}." if group else _message(over[0])
    return None


def _message(pod: JsonObject) -> str:
    """What a pod says of how it ended."""
    return str(get(pod, ("status", "message")) or "")


def _succeeded_by_set(kept: Sequence[JsonObject]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in kept:
        if _phase(one) == "Succeeded":
            counts[_role(one)] = counts.get(_role(one), 0) + 1
    return counts


def _phase(pod: JsonObject) -> str:
    return str(get(pod, ("status", "phase")) or "")
