"""What people and other controllers do by hand in random lives: jobs that are unsuspended, let go, deleted, or made unreadable.

Rules: docs/rules/eviction.md#by-hand, docs/rules/eviction.md#orphans, docs/rules/objects.md#refused
"""

from msgspec.structs import replace

from events.catalogue import Fact
from events.control import ObjectMended, ObjectProblem, ObjectRefused, ObjectRemoved
from events.device import CardQuotaObserved, NodeLockObserved
from events.device_config import DeviceConfigObserved, NodeConfigsObserved, NodeDeviceConfig, VendorConfig
from events.quota import PriorityClassObserved, RuntimeClassObserved
from events.workload import (
    AdoptedStatus,
    Condition,
    ConditionStatus,
    DecidedElsewhere,
    JobUnsuspended,
    Owner,
    PodSetAssignment,
    PriorityRef,
    WorkloadChanged,
    WorkloadOwned,
    WorkloadSpec,
    WorkloadSubmitted,
    WorkloadSwitched,
)
from events.workload_object import WorkloadTerminating
from projections.configuration import table_of
from projections.workloads.lifecycle import ADMITTED, EVICTED, QUOTA_RESERVED, Workload
from tests.laws.beside import Beside, Happenings
from tests.laws.random_platform import CORES, DOORS, GPU, MEMORY, NAMES, QUEUES

_CLASS, _RUNTIME = "urgent", "sandboxed"
_NVIDIA = VendorConfig(word="NVIDIA", count=GPU, memory=MEMORY, percent="nvidia.com/gpumem-percentage", cores=CORES)
_CONFIG = DeviceConfigObserved(namespace="kube-system", name="hami-scheduler-device", vendors=(_NVIDIA,))
"""The one that counts: by another one pods ask for twice as much memory."""
_READABLE = (("ClusterQueue", ""), ("LocalQueue", "team"), ("Node", ""), ("ResourceFlavor", ""))


class Hands(Beside):
    """Somebody is at work beside kuelog."""

    name = "hands"
    often = 0.25

    def platform(self) -> list[Fact]:
        return [self._class(), self._runtime(), _CONFIG]

    def shown(self, fact: Fact) -> Fact:
        match fact:
            case WorkloadSubmitted() | WorkloadChanged():
                return replace(fact, spec=self._spec(fact.spec))
            case _:
                return fact

    def happenings(self) -> Happenings:
        return (
            (self.unsuspend, 2),
            (self.own, 1),
            (self.let_go, 1),
            (self.hold, 1),
            (self.terminate, 1),
            (self.refuse, 1),
            (self.mend, 2),
            (self.classes, 1),
            (self.cards, 1),
            (self.decide, 2),
        )

    def unsuspend(self) -> None:
        one = self.life.one(lambda one: one.owner is not None and not one.finished)
        if one is not None:
            self.life.tell(JobUnsuspended(workload=one.key, generation=one.generation + self.chance.randrange(2)))

    def own(self) -> None:
        """A job comes to run in a Workload that was made before it."""
        one = self.life.one(lambda one: one.owner is None and not one.finished)
        if one is not None:
            self.life.tell(WorkloadOwned(workload=one.key, owner=Owner(kind="Job", name=one.name, uid=one.name)))

    def let_go(self) -> None:
        """A job owns its Workload no longer, or somebody has deleted it."""
        one = self.life.one(lambda one: not one.finished)
        if one is not None:
            said = self.chance.choice(({"orphaned": True}, {"leaving": True}, {"on_hold": True}))
            spec = replace(one.spec, slice_name="", replaces="", variant_of="", **said)
            self.life.tell(WorkloadChanged(workload=one.key, spec=spec, generation=one.generation))

    def hold(self) -> None:
        """What was evicted, and would be tried again, is set inactive."""
        one = self.life.one(lambda one: one.evicted and not one.finished)
        if one is not None:
            self.life.tell(WorkloadSwitched(workload=one.key, active=False))

    def terminate(self) -> None:
        one = self.life.one(lambda _: True)
        if one is not None:
            self.life.tell(WorkloadTerminating(namespace=one.namespace, name=one.name, uid=one.uid))

    def refuse(self) -> None:
        kind, namespace, name = self._object()
        running = self.chance.choice((0, 0, 1)) if kind == "Job" else 0
        problem = ObjectProblem(field="spec", message="is not what it has to be", instead="another")
        self.life.tell(ObjectRefused(kind=kind, namespace=namespace, name=name, running=running, problems=(problem,)))

    def mend(self) -> None:
        refused = [one for one in sorted(self.life.world.refused) if self._stands(one)]
        if refused:
            kind, namespace, name = self.chance.choice(refused).split("/", 2)
            self.life.tell(ObjectMended(kind=kind, namespace=namespace, name=name))

    def _stands(self, place: str) -> bool:
        """Whether it can read as it did before it was refused: what was never read can't."""
        kind, _, key = place.partition("/")
        table = table_of(self.life.world, kind)
        return table is None or key.lstrip("/") in table

    def classes(self) -> None:
        gone = (
            ObjectRemoved(kind="RuntimeClass", name=_RUNTIME),
            ObjectRemoved(kind="WorkloadPriorityClass", name=_CLASS),
        )
        self.life.tell(self.chance.choice((self._class(), self._runtime(), *gone)))

    def cards(self) -> None:
        """HAMi binds a pod on a node, and keeps a quota of card memory in a namespace."""
        since = self.chance.choice((0, self.life.hosts.at))
        lock = NodeLockObserved(node=self.chance.choice(("n0", "n1")), since=since, namespace="team", pod="p0")
        hard = {f"limits.{MEMORY}": self.chance.choice((0, 20_000, 60_000))}
        quota = CardQuotaObserved(namespace=self.chance.choice(NAMES), name="cards", hard=hard)
        gone = ObjectRemoved(kind="ResourceQuota", namespace=quota.namespace, name="cards")
        config = self.chance.choice((_CONFIG, replace(_CONFIG, vendors=(replace(_NVIDIA, factor=2),))))
        hidden = NodeDeviceConfig(node="n0", hidden_indexes=self.chance.choice(((), (0,))))
        nodes = NodeConfigsObserved(namespace="kube-system", name="plugin", nodes=(hidden,))
        self.life.tell(self.chance.choice((lock, quota, gone, config, nodes)))

    def decide(self) -> None:
        """Another manager has let a workload in, or stopped it."""
        one = self.life.one(lambda one: not one.finished and not one.spec.variant_of and not one.spec.elastic)
        if one is None:
            return
        at, shown = self.life.hosts.at, self.chance.choice(((QUOTA_RESERVED, ADMITTED), (QUOTA_RESERVED,), (EVICTED,)))
        conditions = tuple(
            Condition(type=kind, status=ConditionStatus.TRUE, reason=kind, since=at // 1000 * 1000) for kind in shown
        )
        holds = QUOTA_RESERVED in shown
        status = AdoptedStatus(
            conditions=conditions,
            cluster_queue=self.chance.choice(QUEUES) if holds else "",
            assignments=_assigned(one) if holds else (),
        )
        self.life.tell(DecidedElsewhere(workload=one.key, version=1 + len(self.life.hosts.log["FACTS"]), status=status))

    def _object(self) -> tuple[str, str, str]:
        one = self.life.one(lambda one: one.owner is not None)
        if one is not None and one.owner is not None and self.chance.random() < 0.5:
            return "Job", one.namespace, one.owner.name
        kind, namespace = self.chance.choice(_READABLE)
        names = {"ClusterQueue": QUEUES, "LocalQueue": DOORS, "Node": ("n0", "n1"), "ResourceFlavor": ("f0", "f1")}
        return kind, namespace, self.chance.choice(names[kind])

    def _class(self) -> PriorityClassObserved:
        return PriorityClassObserved(name=_CLASS, value=self.chance.choice((0, 1, 5)), workload=True)

    def _runtime(self) -> RuntimeClassObserved:
        return RuntimeClassObserved(name=_RUNTIME, overhead=self.chance.choice(({}, {"cpu": 1})))

    def _spec(self, spec: WorkloadSpec) -> WorkloadSpec:
        if self.chance.random() < 0.3:
            spec = replace(spec, priority_class=PriorityRef(name=_CLASS, workload=True))
        if self.chance.random() < 0.2:
            sets = tuple(replace(one, shape=replace(one.shape, runtime_class=_RUNTIME)) for one in spec.pod_sets)
            spec = replace(spec, pod_sets=sets)
        return spec


def _assigned(one: Workload) -> tuple[PodSetAssignment, ...]:
    return tuple(
        PodSetAssignment(name=each.name, count=each.count, flavors={"cpu": "f0"}, usage={"cpu": each.count})
        for each in one.spec.pod_sets
    )
