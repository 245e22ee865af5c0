"""Other clusters of random lives: copies that come, are admitted, evicted and go there, and connections that are lost and come back.

What has to be written there is what production writes by the same world (`services/multikueue/plan.py`); what the clusters do is chance.

Rule: docs/rules/multikueue.md
"""

from msgspec.structs import replace

from events.api.check_controllers import MULTIKUEUE
from events.catalogue import Fact
from events.control import ObjectRemoved
from events.multikueue import (
    ALL_AT_ONCE,
    BY_ESTIMATE,
    INCREMENTAL,
    ClusterOrder,
    ClustersNamed,
    MultiKueueClusterObserved,
    MultiKueueConfigObserved,
    MultiKueueSettings,
    RemoteCondition,
    RemoteJobRefused,
    RemoteJobSynced,
    RemoteQueue,
    RemoteQueuesObserved,
    RemoteWorkloadGone,
    RemoteWorkloadObserved,
)
from events.quota import AdmissionCheckObserved, CheckParameters, CheckRule, ClusterQueueObserved, ResourceGroup
from events.settings import SettingsObserved
from events.start_estimate import ForeseenStart, StartEstimate
from events.workload import CheckReported, PodsGone, WorkloadChanged, WorkloadSpec, WorkloadSubmitted
from projections.checks.dispatch import OUT_OF_SYNC, counts_of, lost_at
from projections.workloads.lifecycle import ADMITTED, BLOCKED_ON_GATES, EVICTED, FINISHED, QUOTA_RESERVED, Workload
from services.multikueue.plan import concerns, plan
from services.multikueue.remote_plan import RemotePlan
from tests.laws.beside import Beside, Happenings
from tests.laws.random_platform import CHECKS, DOORS, NAMES
from tests.laws.stop_of_pods import stop_of

CLUSTERS = ("w0", "w1", "w2")
_KIND, _CONFIG, _CHECK = "MultiKueueConfig", "workers", "elsewhere"


class Clusters(Beside):
    """Most queues send their workloads to other clusters."""

    name = "clusters"
    often = 0.2
    services = ("multikueue",)

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.dispatcher = self.chance.choice((ALL_AT_ONCE, ALL_AT_ONCE, INCREMENTAL, BY_ESTIMATE, "somebody else's"))
        self.connected = dict.fromkeys(CLUSTERS, True)
        """As it was told last."""
        self.copies: dict[tuple[str, str], RemoteWorkloadObserved] = {}
        """By workload and cluster, the copy there as it was told last."""
        self.jobs: dict[str, set[str]] = {}
        """By workload, the clusters in which its job is."""
        self.made = 0

    def platform(self) -> list[Fact]:
        parameters = CheckParameters(group="kueue.x-k8s.io", kind=_KIND, name=_CONFIG)
        return [
            *(self._cluster(name) for name in CLUSTERS),
            self._config(),
            AdmissionCheckObserved(name=_CHECK, controller=MULTIKUEUE, parameters=parameters),
        ]

    def shown(self, fact: Fact) -> Fact:
        match fact:
            case SettingsObserved():
                return self._settings(fact)
            case ClusterQueueObserved() if self.chance.random() < 0.7:
                rule = CheckRule(name=_CHECK, flavors=("f0",) if self.chance.random() < 0.05 else ())
                others = fact.checks if self.chance.random() < 0.3 else ()
                return replace(fact, checks=(*others, rule), groups=tuple(map(_with_more, fact.groups)))
            case WorkloadSubmitted() | WorkloadChanged() if self.chance.random() < 0.95:
                return replace(fact, spec=_delegated(fact.spec))
            case CheckReported() if fact.check.name == _CHECK and self.chance.random() < 0.95:
                return replace(fact, check=replace(fact.check, name=CHECKS[0]))  # It is for kuelog to answer.
            case _:
                return fact

    def happenings(self) -> Happenings:
        return (
            (self.work, 15),
            (self.life.submit, 4),
            (self.connection, 1),
            (self.lose, 1),
            (self.queues, 1),
            (self.config, 1),
        )

    def pods_may_be_gone(self, one: Workload) -> bool:
        """Of what runs elsewhere it is told by what is seen there."""
        return one.key not in self.jobs

    # what is written there

    def work(self) -> None:
        """Much is done in turns: it is written there, goes on there, and is decided about here."""
        for _ in range(self.chance.choice((1, 2, 4, 8))):
            self.chance.choice((self.name_clusters, self.write, self.write, self.go_on, self.life.hosts.rest))()

    def write(self) -> None:
        """Some of what production would write now is done, in some order."""
        world = self.life.world
        keys = [key for key in sorted({*world.workloads, *world.remotes}) if concerns(world, key)]
        for key in self.chance.sample(keys, k=min(3, len(keys))):
            self._write(plan(world, key))

    def _write(self, wanted: RemotePlan) -> None:
        key, steps = wanted.workload, [*self._steps(wanted)]
        for what, cluster in self.chance.sample(steps, k=min(len(steps), self.chance.choice((1, 2, 5)))):
            if self.connected[cluster]:
                self._step(wanted, what, cluster)
        if wanted.park and not wanted.run and not any(self.connected[name] for name in self.jobs.get(key, ())):
            self._tell_gone(key)

    def _step(self, wanted: RemotePlan, what: str, cluster: str) -> None:
        key = wanted.workload
        match what:
            case "make" | "ask" if (key, cluster) not in self.copies:
                self._make(key, cluster, active=what == "make")
            case "remove":
                self._remove(key, cluster)
            case "amend":
                self._amend(key, cluster)
            case "open":
                self._change(key, cluster, opened=self.life.hosts.at)
            case "look":
                self._look(key, cluster)
            case "run":
                self._run(wanted, cluster)
            case "stop":
                self._stop(key, cluster)
            case _:
                pass

    @staticmethod
    def _steps(wanted: RemotePlan) -> list[tuple[str, str]]:
        found = [
            *(("make", name) for name in wanted.make),
            *(("ask", name) for name in wanted.ask),
            *(("remove", name) for name, _ in wanted.remove),
            *(("amend", name) for name, _ in wanted.amend),
            *(("open", name) for name in wanted.open),
            *((("look", wanted.look),) if wanted.look else ()),
        ]
        if wanted.run is not None and (wanted.run.stop or wanted.run.make):
            found.append(("stop" if wanted.run.stop else "run", wanted.run.cluster))
        return found

    def _make(self, key: str, cluster: str, *, active: bool) -> None:
        one = self.life.world.workloads[key]
        self.made += 1
        answers = not active and self.chance.random() < 0.5
        self._show(
            RemoteWorkloadObserved(
                cluster=cluster,
                workload=key,
                uid=f"copy{self.made}",
                version=1,
                queue=one.spec.queue,
                priority=one.spec.priority,
                counts=counts_of(one),
                active=active,
                estimate=self._estimate() if answers else None,
            )
        )

    def _remove(self, key: str, cluster: str) -> None:
        """With a copy its job goes."""
        if self.copies.pop((key, cluster), None) is not None:
            self._end_job(key, cluster)
            self.life.tell(RemoteWorkloadGone(cluster=cluster, workload=key))

    def _amend(self, key: str, cluster: str) -> None:
        one = self.life.world.workloads[key]
        self._change(key, cluster, counts=counts_of(one), priority=one.spec.priority)

    def _look(self, key: str, cluster: str) -> None:
        if (key, cluster) in self.copies:
            self._change(key, cluster)
        else:
            self.life.tell(RemoteWorkloadGone(cluster=cluster, workload=key))

    def _run(self, wanted: RemotePlan, cluster: str) -> None:
        """The job is made: it may be nowhere else by then, but where nobody reaches it, and has not for long enough."""
        if (wanted.workload, cluster) not in self.copies or wanted.run is None:
            return
        if wanted.run.over:
            self._change(wanted.workload, cluster, shown=True)
            return
        if self.chance.random() < 0.1:
            refused = RemoteJobRefused(
                workload=wanted.workload, cluster=cluster, decision=wanted.run.decision, message="not ours"
            )
            self.life.tell(refused)
            return
        for other in sorted(self.jobs.get(wanted.workload, set()) - {cluster}):
            given_up = lost_at(self.life.world, other)
            assert given_up is not None and given_up <= self.life.hosts.at, (
                f"{wanted.workload} is to run in {cluster}, and runs in {other}"
            )
        self.jobs.setdefault(wanted.workload, set()).add(cluster)
        self.life.tell(RemoteJobSynced(workload=wanted.workload, cluster=cluster, decision=wanted.run.decision))

    def _stop(self, key: str, cluster: str) -> None:
        self._change(key, cluster, active=False, conditions={})
        self._end_job(key, cluster)
        self._tell_gone(key)

    def _tell_gone(self, key: str) -> None:
        one = self.life.world.workloads[key]
        if one.reserved:
            self.life.tell(
                PodsGone(workload=key, decision=stop_of(one, self.life.hosts.decision(key, one.stops.stopped_by)))
            )

    def _end_job(self, key: str, cluster: str) -> None:
        left = self.jobs.get(key, set()) - {cluster}
        if left:
            self.jobs[key] = left
        else:
            self.jobs.pop(key, None)

    # what becomes of it there

    def go_on(self) -> None:
        """A copy gets quota, is admitted, is evicted, ends, or waits at its gate."""
        found = [place for place in sorted(self.copies) if self.connected[place[1]]]
        for key, cluster in self.chance.sample(found, k=min(3, len(found))):
            self._go_on(key, cluster)

    def _go_on(self, key: str, cluster: str) -> None:
        copy, at = self.copies[key, cluster], self.life.hosts.at
        if not copy.active:
            self._change(key, cluster, estimate=self._estimate())
            return
        shown = dict(copy.conditions)
        if ADMITTED not in shown:
            admitted = (QUOTA_RESERVED, ADMITTED)
            kinds = self.chance.choice(((QUOTA_RESERVED,), admitted, admitted, admitted, (BLOCKED_ON_GATES,)))
            shown |= {kind: RemoteCondition(since=at, reason="") for kind in kinds}
        elif self.chance.random() < 0.6:
            pass  # It runs on.
        elif self.chance.random() < 0.6:
            shown[EVICTED] = RemoteCondition(since=at, reason="Preempted")
            if self.chance.random() < 0.5:
                del shown[ADMITTED], shown[QUOTA_RESERVED]
        else:
            shown[FINISHED] = RemoteCondition(since=at, reason=self.chance.choice((OUT_OF_SYNC, "Succeeded")))
        self._change(key, cluster, conditions=shown)

    def _estimate(self) -> StartEstimate:
        return StartEstimate(start=self.chance.choice(tuple(ForeseenStart)), others=self.chance.randrange(3))

    def _change(self, key: str, cluster: str, **changes: object) -> None:
        copy = self.copies.get((key, cluster))
        if copy is not None:
            self._show(replace(copy, version=copy.version + 1, **changes))

    def _show(self, copy: RemoteWorkloadObserved) -> None:
        self.copies[copy.workload, copy.cluster] = copy
        self.life.tell(copy)

    # clusters and who asks for them

    def connection(self) -> None:
        """A cluster can't be reached any more, or is again: then all that stands in it is told before."""
        name = self.chance.choice(CLUSTERS)
        self.connected[name] = not self.connected[name]
        if self.connected[name]:
            for key, cluster in sorted(self.copies):
                if cluster == name:
                    self._change(key, cluster)
        self.life.tell(self._cluster(name))

    def lose(self) -> None:
        """A cluster is not one of these any more: what is in it stays there, and nobody here knows."""
        if self.chance.random() < 0.5:
            return
        name = self.chance.choice(CLUSTERS)
        self.connected[name] = False
        self.life.tell(ObjectRemoved(kind="MultiKueueCluster", name=name))

    def name_clusters(self) -> None:
        one = self.life.one(lambda one: one.reserved and not one.admitted)
        if one is not None and self.dispatcher.startswith("somebody"):
            named = tuple(name for name in CLUSTERS if self.chance.random() < 0.5)
            self.life.tell(ClustersNamed(workload=one.key, clusters=named))

    def queues(self) -> None:
        name = self.chance.choice(CLUSTERS)
        if self.connected[name]:
            keys = tuple(f"{space}/{door}" for space in NAMES for door in DOORS if self.chance.random() < 0.3)
            queue = RemoteQueue(name="there", local_queues=keys, nominal={"cpu": self.chance.choice((1, 2, 4))})
            self.life.tell(RemoteQueuesObserved(cluster=name, queues=(queue,)))

    def config(self) -> None:
        gone = self.chance.random() < 0.1
        self.life.tell(ObjectRemoved(kind=_KIND, name=_CONFIG) if gone else self._config())

    def _config(self) -> MultiKueueConfigObserved:
        names = tuple(name for name in CLUSTERS if self.chance.random() < 0.9) or CLUSTERS
        return MultiKueueConfigObserved(name=_CONFIG, clusters=names, automated=self.chance.random() < 0.3)

    def _cluster(self, name: str) -> MultiKueueClusterObserved:
        price = self.chance.choice((None, 1, 2))
        return MultiKueueClusterObserved(
            name=name, location=name, active=self.connected[name], since=self.life.hosts.at, price=price
        )

    def _settings(self, fact: SettingsObserved) -> SettingsObserved:
        pick = self.chance.choice
        rule = MultiKueueSettings(
            dispatcher=self.dispatcher,
            worker_lost_timeout=pick((0, 60_000, 900_000)),
            step_size=pick((1, 2)),
            order=pick(((ClusterOrder.EARLIEST_START,), (ClusterOrder.PRICE, ClusterOrder.SPREAD))),
        )
        names = ("MultiKueueOrchestratedPreemption", "MultiKueueManagerQuotaAutomation")
        gates = {name: self.chance.random() < 0.7 for name in names if self.chance.random() < 0.5}
        nobody = self.chance.random() < 0.03
        return replace(fact, multikueue=None if nobody else rule, gates={**fact.gates, **gates})


def _with_more(group: ResourceGroup) -> ResourceGroup:
    """With quota for most that come: what is of interest begins where they have it."""
    flavors = tuple(
        replace(one, quotas=tuple(replace(each, nominal=4 * each.nominal + 4) for each in one.quotas))
        for one in group.flavors
    )
    return replace(group, flavors=flavors)


def _delegated(spec: WorkloadSpec) -> WorkloadSpec:
    return replace(spec, managed_by=MULTIKUEUE)
