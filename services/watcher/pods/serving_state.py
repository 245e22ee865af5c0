"""A serving object as one workload, or as one for each of its pod groups: what it requests, and its status."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from events.api.labels import (
    ADMISSION_GATED_BY,
    MAX_EXEC_TIME_SECONDS,
    MULTIKUEUE_ORIGIN_UID,
    QUEUE_NAME,
    ROLE_HASH,
    USER,
)
from events.api.meta import ApiStruct, ObjectMeta
from events.api.pods import PodTemplate
from events.event import Millis
from events.job_kind import JobKind
from events.json_object import JsonObject
from events.json_path import FieldBroken, get
from events.pod_set import PodSet
from events.whole_number import whole_number
from events.workload import MemberState, Owner, WorkloadSpec
from services.jobs.kinds import pods as rules
from services.jobs.kinds.serving import pods_of_parent, replicas_of, role_in
from services.jobs.kinds.table import LEADER_WORKER_SET
from services.validation.unsupported import asked_in
from services.watcher.fields.object_reading import created_at, read
from services.watcher.fields.problems import Refused, problem
from services.watcher.jobs.jobs import (
    JobState,
    Surroundings,
    copied_labels,
    names_in,
    never_preempts,
    own_parameters,
    pod_set,
    priority_of,
)
from services.watcher.pods.pod_group_owners import index_of
from services.watcher.pods.pod_members import group_members, members_of
from services.watcher.workloads.reported_state import ReportedState


class _Headed(ApiStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta


def serving_state(
    kind: JobKind,
    parent: JsonObject,
    place: str,
    key: str,
    pods: Sequence[JsonObject],
    around: Surroundings,
    reported: ReportedState | None,
) -> JobState | None:
    """The workload `key` of a place, of these pods, oldest first; None when its parent has no such group. Raises `Refused`."""
    try:
        return _state(kind, parent, place, key, pods, around, reported)
    except FieldBroken as broken:
        raise Refused([problem(broken.field, broken.message, broken.instead)]) from broken


def _state(
    kind: JobKind,
    parent: JsonObject,
    place: str,
    key: str,
    pods: Sequence[JsonObject],
    around: Surroundings,
    reported: ReportedState | None,
) -> JobState | None:
    meta = read(parent, _Headed).metadata
    labels = meta.labels or {}
    groups = kind is LEADER_WORKER_SET
    index, replicas = index_of(place) if groups else 0, replicas_of(parent)
    over = groups and index >= replicas and not pods
    if not (labels.get(QUEUE_NAME) or around.kinds.takes_all):
        return None
    if reported is None and (over or not replicas or around.goes_with_owner(meta)):
        return None
    asked = _pod_sets(kind, parent, pods, around, reported)
    held = reported.spec.pod_sets if reported is not None else asked

    def role(pod: JsonObject) -> str:
        return role_in(pod, parent) if groups else asked[0].name

    group = group_members(pods, {one.name: one.count for one in held}, role)
    members = members_of(group.kept, role)
    begun = reported is not None and any(one.state is MemberState.LIVE for one in members)
    if not begun and replicas:
        group = group_members(pods, {one.name: one.count for one in asked}, role)
        members, held = members_of(group.kept, role), asked
    last = None if reported is None else reported.spec
    priority, reference = priority_of(meta, _class_of(kind, parent), around, last)
    return JobState(
        workload=key,
        # What another cluster has sent here comes after the Workloads that it runs in.
        prebuilt=MULTIKUEUE_ORIGIN_UID in (meta.annotations or {}),
        uid=f"{meta.uid}-{index}" if groups else meta.uid,
        owner=Owner(
            kind=kind.kind,
            name=meta.name,
            uid=meta.uid,
            api_version=f"{kind.group}/{kind.versions[0]}",
            part=str(index) if groups else "",
        ),
        created_at=_begun_at(meta, pods) if groups else created_at(meta),
        spec=WorkloadSpec(
            # Running pods stay where they were admitted, as many as were admitted, and for as long.
            queue=reported.spec.queue if reported is not None and begun else labels.get(QUEUE_NAME, ""),
            pod_sets=held,
            priority=priority,
            priority_class=reference,
            max_execution=reported.spec.max_execution if reported is not None and begun else _may_run_for(labels),
            gated_by=names_in(meta, ADMISSION_GATED_BY),
            provisioning=own_parameters(meta),
            never_preempt=never_preempts(meta),
            labels=copied_labels(labels, around),
            user=labels.get(USER, ""),
            members=members,
            not_done=asked_in(parent),
            on_hold=not replicas,
            orphaned=over,
        ),
        marked=True,
        ready=None
        if all(map(rules.is_waiting, group.kept))
        else not group.missing and all(map(rules.is_ready, group.kept)),
    )


def _pod_sets(
    kind: JobKind,
    parent: JsonObject,
    pods: Sequence[JsonObject],
    around: Surroundings,
    reported: ReportedState | None,
) -> tuple[PodSet, ...]:
    found = tuple(pod_set(one, read(one.template, PodTemplate), around) for one in pods_of_parent(kind.place, parent))
    if kind is LEADER_WORKER_SET:
        return found
    # Kueue's webhook gives the pods of a StatefulSet a role that its template does not name.
    reported_name = reported.spec.pod_sets[0].name if reported is not None else ""
    roles = (rules.annotations_of(one).get(ROLE_HASH) for one in pods if not rules.waits_for_its_group(one))
    given = next((str(role) for role in roles if role), "")
    return tuple(structs.replace(one, name=reported_name or given or one.name) for one in found)


def _may_run_for(labels: Mapping[str, str]) -> Millis | None:
    """The time that its label says; none where that can't be read, so that it goes on as under Kueue."""
    seconds = whole_number(labels.get(MAX_EXEC_TIME_SECONDS))
    return 1000 * seconds if seconds else None


def _begun_at(meta: ObjectMeta, pods: Sequence[JsonObject]) -> int:
    """When a group came into line: those that came later by scaling are younger than the others, as under Kueue."""
    return max(created_at(meta), created_at(read(pods[0], _Headed).metadata) if pods else 0)


def _class_of(kind: JobKind, parent: JsonObject) -> str | None:
    named = (get(one.template, ("spec", "priorityClassName")) for one in pods_of_parent(kind.place, parent))
    return next((str(one) for one in named if one), None)
