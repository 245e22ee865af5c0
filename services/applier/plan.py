"""What the applier has to do: pure, from the folded world. A decision that is applied is planned no more."""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from events.amount import Requests
from events.job_kind import JobKind
from events.json_object import JsonObject
from events.settings import SettingsObserved
from events.upkeep import DiscardReason
from events.workload import CheckState, ConditionStatus, Member, MemberState
from projections.checks.dispatch import Dispatch, stays_elsewhere
from projections.configuration import Configuration
from projections.devices.annotations.pins import needs_pins
from projections.devices.placement.pod_cards import assigned, pins_by_pod
from projections.devices.state import DeviceState
from projections.log_position import LogPosition
from projections.partitions.lineage import decided_in
from projections.queues.waiting import requested_by
from projections.workloads.conditions import PENDING, without_quota
from projections.workloads.decision_mark import number_here
from projections.workloads.in_cluster import News
from projections.workloads.lifecycle import EVICTED, PODS_READY, REQUEUED, Workload
from projections.workloads.multikueue_check import check_of
from projections.workloads.pods import goes_with_its_job, made_of_pods, runs_without_admission, with_room
from projections.workloads.slices import steers_job
from projections.workloads.variants import acting_for, as_shown, has_its_parent, with_variants
from services.applier.manifests import NOT_ADMITTED, injections, job_should_run, originals, workload_status
from services.applier.state import PlanState
from services.jobs.job_status import is_suspended
from services.jobs.kinds.managed_kinds import kinds_of, resource_of
from services.jobs.kinds.table import JOB, POD_GROUP
from services.jobs.pod_sets.pod_set import Injection, Original
from services.runtime.cluster_port import Resource
from services.runtime.partition.guard import error_summary


class Application(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be written about one workload so that the cluster shows what the log has decided up to `sequence`."""

    workload: str
    partition: str
    sequence: int
    of: Workload
    """The workload as of `sequence`; its objects and patches are made from it only when they are written."""
    settings: SettingsObserved = SettingsObserved()
    requests: dict[str, Requests] = {}
    """By pod set, what it was tried with, where its status shows what it waits for."""
    job: str = ""
    """The job behind it, by name; empty when there is none."""
    job_version: int = 0
    """The newest resourceVersion of the job on the log; 0 where none is."""
    run: bool = False
    seen: int = 0
    """The sequence of the last observed fact that the object has to show beside the decisions."""
    aside: bool = False
    """Only observed pod states are not shown yet: it may be written with low priority."""
    finished: bool = False
    """The job has ended: only the Workload object is still to say so."""
    kind: JobKind | None = None
    """The kind of the job."""
    api_version: str = ""
    injections: tuple[Injection, ...] = ()
    """What is injected into each pod set when the job starts."""
    members: tuple[Member, ...] = ()
    """Its pods, where no other object starts and stops them."""
    gate: tuple[str, ...] = ()
    """The names of those pods whose scheduling gate is to be removed."""
    pod_pins: dict[str, dict[str, str]] = {}
    """By UID, the annotations that keep a pod to its own cards, where pods have different ones."""
    stopping: bool = False
    """It is evicted, and its quota is released once its pods have ended."""
    never_let_in: bool = False
    """Pods of it run although it is not admitted: they are ended."""
    why: tuple[str, str] = ("", "")
    """Reason and message of the condition on pods that have to end."""
    deactivated: int = 0
    """The sequence of the decision that deactivated it: `spec.active` is set to false; 0 when it is active."""
    activated: int = 0
    """The sequence of the decision that set a variant active again: so is `spec.active`; 0 where none has."""
    release: bool = False
    """Our finalizer is to be removed from the object."""
    discard: bool = False
    """The object is to be deleted."""
    dispatch: Dispatch | None = None
    """The clusters that it was sent to, where it runs on another one."""
    checks: dict[str, int] = {}
    """By admission check, the sequence of the decision that last set its state."""
    news: tuple[News, ...] = ()
    """What is to be recorded as Events on the object."""
    discard_job: bool = False
    """The job behind it is to be deleted, too."""
    fresh: bool = False
    """Nothing was written about it yet."""
    waits: bool = False
    """It waits and has never held quota: its status may be written with low priority."""
    broken: str = ""
    """The error that kept this application from being planned; empty when there is none."""

    @property
    def others_nominate(self) -> bool:
        """Whether it is somebody else's dispatcher that writes `nominatedClusterNames`, until a cluster is chosen or quota is lost."""
        rule, chosen = self.settings.multikueue, self.dispatch is not None and bool(self.dispatch.cluster)
        others = rule is not None and rule.dispatched_by_others
        return others and self.of.reserved and not self.of.evicted and not chosen

    @property
    def is_ours(self) -> bool:
        """Whether the Workload object is made here, for a job."""
        return self.of.owner is not None and not self.of.in_cluster.prebuilt

    @property
    def nothing_decided(self) -> bool:
        """Whether all that was decided is shown, and only what was seen is not."""
        return self.of.decided <= self.of.applied and not self.fresh

    @property
    def starts(self) -> bool:
        """Whether it starts a job that has never run, as far as was seen."""
        return self.run and not self.nothing_decided and not self.pods_run and not self.of.stops.evictions

    @property
    def pods_run(self) -> bool:
        """Whether its pods were last seen ready."""
        found = self.of.condition(PODS_READY)
        return found is not None and found.status is ConditionStatus.TRUE

    @property
    def shows_pods_ready(self) -> bool:
        """Whether its object shows PodsReady: until it has finished, if `waitForPodsReady` is set, as under Kueue."""
        return self.settings.pods_ready is not None and not self.finished

    @property
    def status(self) -> JsonObject:
        """The status that the object should have."""
        return {
            **workload_status(self.of, self.settings, self.requests),
            **_clusters(self.of, self.dispatch, others=self.others_nominate),
        }

    @property
    def status_between(self) -> JsonObject | None:
        """The status between the quota that the object shows and the quota that is held now; None where that is the same, as far as was applied."""
        held = self.of.admission
        if held is None or self.of.applied >= held.reservation:
            return None
        position = LogPosition(partition=self.partition, sequence=held.reservation, at=held.reserved_at)
        requeued = self.of.condition(REQUEUED)
        waiting = replace(self.of, admission=None)
        waited = without_quota(
            waiting, self.settings, PENDING, requeued.message if requeued is not None else "", position
        )
        return workload_status(waited, self.settings, self.requests)

    @property
    def originals(self) -> tuple[Original, ...]:
        """What its pod sets asked for themselves, where a job gets more at its start."""
        return originals(self.of) if self.of.owner is not None else ()

    @property
    def described_by(self) -> str:
        """The name of the job that describes its pods, also when it has ended."""
        return self.of.owner.name if self.of.owner is not None else ""

    @property
    def namespace(self) -> str:
        """Where the workload and its job are."""
        return self.workload.partition("/")[0]

    @property
    def name(self) -> str:
        """The name of the Workload object, without its namespace."""
        return self.workload.partition("/")[2]

    @property
    def state(self) -> tuple[int, int, bool, tuple[str, ...]]:
        """What has to be written: as long as this is the same, nothing has."""
        return self.sequence, self.seen, self.finished, self.gate

    @property
    def job_resource(self) -> Resource:
        """The place of the job's kind on the API."""
        return resource_of(self.kind or JOB, self.api_version)

    @property
    def group(self) -> bool:
        """Whether its pods own its object together."""
        return self.kind is not None and self.kind.kind == POD_GROUP.kind and self.made_of_pods

    @property
    def made_of_pods(self) -> bool:
        """Whether no job starts and stops its pods."""
        return made_of_pods(self.of)

    def turns(self, job: JsonObject) -> bool:
        """Whether a job as it was found is let run or stopped by this, and not only marked or put right."""
        return self.kind is not None and is_suspended(self.kind, job) is self.run

    def since(self, mark: str) -> int:
        """The number of the decision of this log that a mark names; 0 for one of another log, which is older than all of this."""
        return number_here(mark, self.of.in_cluster)

    @property
    def decision(self) -> str:
        """The mark that is left on what was written: the partition in which that was decided, and the number of the decision."""
        return f"{self.partition}/{self.sequence}"


def plan(world: PlanState, partition: str, keys: Iterable[str]) -> list[Application]:
    """What the cluster does not show yet, of these workloads; admissions before anything else."""
    found = [
        _planned(world, partition, workload)
        for key in sorted(with_variants(world, set(keys)))
        if (known := world.workloads.get(key)) is not None
        and not _shown(world, workload := as_shown(world, known))
        and has_its_parent(world, workload)
    ]
    return sorted(found, key=lambda one: (not one.run, one.workload))


def _planned(world: PlanState, partition: str, workload: Workload) -> Application:
    try:
        return _application(world, partition, workload)
    except Exception as problem:  # noqa: BLE001 - whatever a workload holds, all others are applied
        return Application(
            workload=workload.key,
            partition=decided_in(world.forks, partition, workload.decided),
            sequence=workload.decided,
            of=workload,
            seen=workload.seen,
            finished=workload.finished,
            broken=error_summary(problem),
        )


def _shown(world: PlanState, workload: Workload) -> bool:
    return _decided_is_shown(world, workload) and (workload.seen <= workload.shown or not workload.decided)


def _decided_is_shown(world: PlanState, workload: Workload) -> bool:
    if workload.decided > workload.applied or (workload.finished and not workload.finish_shown):
        return False
    # Who was taken over is left as it is; but a job that comes to a Workload that was let in runs, whoever has let that in.
    if (
        (workload.decided or workload.in_cluster.prebuilt)
        and not workload.finished
        and workload.in_cluster.job_turned > workload.shown
    ):
        return False
    if runs_without_admission(workload) and workload.seen > workload.shown:
        return False
    return not _runs_here(world, workload) or not _at_the_gate(world, workload)


def _runs_here(world: PlanState, workload: Workload) -> bool:
    """Whether what it is made of is to run in this cluster: pods say nowhere that another one runs them, and keep their gates.

    Rule: docs/rules/multikueue.md#pods
    """
    if not job_should_run(workload) or not made_of_pods(workload):
        return job_should_run(workload)
    return not check_of(world.checks, workload) and not stays_elsewhere(world.dispatches, workload)


def _at_the_gate(world: DeviceState, workload: Workload) -> tuple[str, ...]:
    """The gated pods that may run: of each pod set at most the admitted count, and none that waits for cards of its own."""
    if workload.admission is None or not workload.spec.members:
        return ()
    apart = {one.name for one in workload.spec.pod_sets if needs_pins(workload, one.name)}
    assigned_uids = {one.uid for one in assigned(world, workload)} if apart else set[str]()
    let_through = [one for one in workload.spec.members if one.state is not MemberState.GATED]
    gated = [one for one in workload.spec.members if one.state is MemberState.GATED]
    return tuple(
        one.name
        for one in with_room(workload.admission, let_through, gated)
        if one.pod_set not in apart or one.uid in assigned_uids
    )


def requests_shown(world: DeviceState, workload: Workload) -> dict[str, Requests]:
    """By pod set, what a workload that waits was tried with; empty while it has quota, or was not tried yet."""
    if workload.admission is not None or workload.attempt is None:
        return {}
    return requested_by(world, world.cluster_queues.get(workload.attempt.cluster_queue), workload)


def _application(world: PlanState, partition: str, workload: Workload) -> Application:
    run = _runs_here(world, workload)
    acting = acting_for(world, workload)
    return Application(
        workload=workload.key,
        partition=decided_in(world.forks, partition, workload.decided),
        sequence=workload.decided,
        of=workload,
        settings=world.settings,
        requests=requests_shown(world, workload),
        seen=workload.seen,
        aside=_decided_is_shown(world, workload),
        finished=workload.finished,
        job=_job(world.settings, workload) if _steers_job(world, workload) else "",
        job_version=_job_version(world, workload),
        run=run,
        members=workload.spec.members,
        gate=_at_the_gate(world, workload) if run else (),
        pod_pins=pins_by_pod(world, workload) if run and workload.spec.members else {},
        kind=_kind(world.settings, workload),
        api_version=workload.owner.api_version if workload.owner is not None else "",
        injections=injections(world, acting) if run else (),
        stopping=workload.evicted and workload.reserved,
        never_let_in=runs_without_admission(workload),
        why=_why(workload),
        deactivated=0 if workload.spec.active else workload.stops.deactivated_by,
        activated=workload.stops.deactivated_by if workload.spec.active and workload.spec.variant_of else 0,
        release=workload.in_cluster.released or bool(workload.in_cluster.discarded),
        discard=bool(workload.in_cluster.discarded),
        dispatch=_dispatch(world, workload),
        checks={name: check.decided for name, check in sorted(workload.checks.items())},
        news=workload.in_cluster.news,
        discard_job=workload.in_cluster.discarded == DiscardReason.DEACTIVATED and goes_with_its_job(workload),
        fresh=workload.applied == 0,
        waits=_waits(workload),
    )


def _dispatch(world: PlanState, workload: Workload) -> Dispatch | None:
    """Where it was sent, by the check that says so now: that of its queue may be another one since."""
    found = world.dispatches.get(workload.key)
    return None if found is None else replace(found, check=check_of(world.checks, workload))


def _clusters(workload: Workload, dispatch: Dispatch | None, *, others: bool) -> JsonObject:
    """The clusters that its object names: where it runs once that is settled, until then where it is tried."""
    if dispatch is None:
        return {}
    check = workload.checks.get(dispatch.check)
    runs = workload.admitted and not workload.evicted
    if dispatch.follows and not workload.evicted:
        return {"clusterName": dispatch.runs_in}
    if dispatch.cluster and (runs or (check is not None and check.state is CheckState.READY)):
        return {"clusterName": dispatch.cluster}
    names = (dispatch.cluster,) if dispatch.cluster else () if others else dispatch.clusters
    return {"nominatedClusterNames": list(names)} if names and not workload.evicted else {}


def _steers_job(world: DeviceState, workload: Workload) -> bool:
    """A job that has variants is started and stopped on behalf of its own workload, whichever of them is admitted."""
    return not workload.spec.variant_of and steers_job(world, workload)


def _waits(workload: Workload) -> bool:
    has_history = (
        workload.evicted
        or workload.finished
        or workload.in_cluster.released
        or bool(workload.in_cluster.discarded)
        or workload.checks
    )
    return not has_history and not workload.reserved and workload.spec.active


def _job(settings: SettingsObserved, workload: Workload) -> str:
    """The job to be started or stopped; none when it has ended by itself."""
    owner = workload.owner
    return owner.name if owner is not None and _kind(settings, workload) is not None and not workload.finished else ""


def _job_version(world: Configuration, workload: Workload) -> int:
    kind, owner = _kind(world.settings, workload), workload.owner
    if kind is None or owner is None:
        return 0
    known = world.versions.known.get(f"{kind.place}/{workload.namespace}/{owner.name}")
    return 0 if known is None else known.version


def _kind(settings: SettingsObserved, workload: Workload) -> JobKind | None:
    owner = workload.owner
    return None if owner is None else kinds_of(settings).of(owner.api_version, owner.kind)


def _why(workload: Workload) -> tuple[str, str]:
    found = workload.condition(EVICTED)
    if found is None or not workload.evicted:
        return "NotAdmitted", NOT_ADMITTED
    return f"WorkloadEvictedDueTo{found.reason}", found.message
