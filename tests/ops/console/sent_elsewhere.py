"""A log of workloads that are sent to other clusters: one runs in one of them, one is tried in two, and a third cluster is away."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from events.multikueue import (
    MultiKueueClusterObserved,
    MultiKueueConfigObserved,
    MultiKueueSettings,
    RemoteCondition,
    RemoteJobSynced,
    RemoteWorkloadObserved,
)
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    AdmissionCheckObserved,
    CheckParameters,
    CheckRule,
    FlavorObserved,
    LocalQueueObserved,
    NamespaceObserved,
    PreemptionRules,
    Quota,
)
from events.settings import SettingsObserved
from events.workload import Owner, WorkloadSpec, WorkloadSubmitted
from ops.sandbox.bench.day import BEGINS, cluster_queue
from ops.sandbox.bench.partitions import RecordedPartitions
from services.multikueue.seen import AUTHOR
from services.runtime.log_port import Entry

CHOSEN = BEGINS + 2000
"""When the copy of `runs` is admitted in `west`."""
_MULTIKUEUE = "kueue.x-k8s.io/multikueue"


def cluster(name: str, *, active: bool = True) -> MultiKueueClusterObserved:
    return MultiKueueClusterObserved(name=name, uid=f"uid-{name}", location=name, active=active, since=BEGINS)


def submitted(name: str, at: int) -> WorkloadSubmitted:
    shape = PodShape(containers=(ContainerShape(name="c", requests={"cpu": 1000}),))
    spec = WorkloadSpec(queue="q", pod_sets=(PodSet(name="main", count=1, shape=shape),), managed_by=_MULTIKUEUE)
    owner = Owner(kind="Job", name=name, uid=f"uid-{name}", api_version="batch/v1")
    return WorkloadSubmitted(workload=f"team/{name}", uid=owner.uid, owner=owner, created_at=at, spec=spec)


def copy(workload: str, where: str, **since: int) -> RemoteWorkloadObserved:
    conditions = {kind: RemoteCondition(since=at) for kind, at in since.items()}
    return RemoteWorkloadObserved(
        cluster=where,
        workload=workload,
        uid=f"{workload}-{where}",
        version=1,
        queue="q",
        counts={"main": 1},
        conditions=conditions,
    )


def sent_elsewhere() -> Mapping[str, Sequence[Entry]]:
    """`team/runs` runs in west, `team/tried` waits in east and west; north is away, and south is named and not there."""
    stage = RecordedPartitions()
    quota = (Quota(resource="cpu", nominal=4000),)
    config = CheckParameters(group="kueue.x-k8s.io", kind="MultiKueueConfig", name="all")
    queue = cluster_queue("q", "", (("default", quota),), PreemptionRules())
    facts = [
        SettingsObserved(multikueue=MultiKueueSettings(), devices=False),
        NamespaceObserved(name="team"),
        FlavorObserved(name="default"),
        *(cluster(name, active=name != "north") for name in ("east", "north", "west")),
        MultiKueueConfigObserved(name="all", clusters=("west", "east", "north", "south")),
        AdmissionCheckObserved(name="elsewhere", controller=_MULTIKUEUE, parameters=config),
        replace(queue, checks=(CheckRule(name="elsewhere"),)),
        LocalQueueObserved(namespace="team", name="q", cluster_queue="q"),
    ]
    for fact in facts:
        stage.observe(fact, BEGINS)
    for at, fact in (
        (BEGINS + 1000, submitted("runs", BEGINS + 1000)),
        (CHOSEN, copy("team/runs", "west", QuotaReserved=CHOSEN, Admitted=CHOSEN)),
        (BEGINS + 3000, submitted("tried", BEGINS + 3000)),
        (BEGINS + 4000, copy("team/tried", "east")),
    ):
        stage.observe(fact, at, author="watcher" if isinstance(fact, WorkloadSubmitted) else AUTHOR)
        while stage.turn(at):
            pass
        dispatch = stage.world.dispatches.get("team/runs")
        if dispatch is not None and dispatch.cluster and not dispatch.synced:
            synced = RemoteJobSynced(workload="team/runs", cluster="west", decision=dispatch.decision)
            stage.observe(synced, at, author=AUTHOR)
            while stage.turn(at):
                pass
    return stage.entries
