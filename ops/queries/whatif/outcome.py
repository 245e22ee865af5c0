"""What became of each workload in a run, and of the quota of each queue."""

from collections.abc import Iterable, Sequence

import msgspec

from events.event import Millis
from events.workload import PodSetAssignment, WorkloadSubmitted
from ops.queries.whatif.course import class_name
from projections.explanation.read_models import cluster_queue_name
from projections.workloads.lifecycle import Workload
from projections.world import World

QueueResource = tuple[str, str, str]
"""Cluster queue, flavor, resource."""


class WorkloadOutcome(msgspec.Struct, kw_only=True, gc=False):
    """One workload. Times that never came are None."""

    key: str
    queue: str
    kind: str
    submitted: Millis
    reserved: Millis | None = None
    admitted: Millis | None = None
    finished: Millis | None = None
    preempted: int = 0
    flavors: tuple[str, ...] = ()
    gone: bool = False
    """Somebody deleted it."""

    def waited(self, end: Millis) -> Millis:
        """Milliseconds from its submission to its first admission, or to `end` while it was not admitted."""
        return (self.admitted if self.admitted is not None else end) - self.submitted


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a workload is not let in, as `kuelog explain` says it of one that is there."""

    reason: str = ""
    message: str = ""
    waits_for: tuple[str, ...] = ()
    fix: str = ""


class RunResults(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one run."""

    began: Millis
    ended: Millis
    outcomes: dict[str, WorkloadOutcome]
    used: list[tuple[str, str, str, int]]
    """Quota·ms by cluster queue, flavor and resource."""
    preemptions: int
    pairs: list[tuple[str, str, int]]
    """Who was preempted by whom, and how often: cluster queues of victim and preemptor."""
    refusals: dict[str, Refusal] = {}
    """Of those that were asked about and are not in at the end, by workload."""


class Outcomes:
    """Gathers the outcome of every workload during a run."""

    def __init__(self, began: Millis) -> None:
        self.began, self.ended = began, began
        self.found: dict[str, WorkloadOutcome] = {}
        self.used: dict[QueueResource, int] = {}
        self.preemptions = 0
        self.pairs: dict[tuple[str, str], int] = {}
        self._holds: dict[str, tuple[Millis, str, tuple[PodSetAssignment, ...]]] = {}

    def begin(self, world: World, workload: Workload, submitted: Millis) -> None:
        """A workload is there: from now on it counts."""
        if workload.key not in self.found:
            queue = cluster_queue_name(world, workload)
            self.found[workload.key] = WorkloadOutcome(
                key=workload.key,
                queue=queue,
                kind=class_name(workload.spec),
                submitted=submitted,
                admitted=workload.admitted_at,
            )

    def arrive(self, key: str, fact: WorkloadSubmitted, at: Millis) -> None:
        """A workload was submitted; which cluster queue it comes to is seen when it is queued."""
        if key not in self.found:
            space = key.partition("/")[0]
            kind = class_name(fact.spec)
            self.found[key] = WorkloadOutcome(key=key, queue=f"{space}/{fact.spec.queue}", kind=kind, submitted=at)

    def queue(self, key: str, queue: str) -> None:
        """It is pending in this cluster queue."""
        found = self.found.get(key)
        if found is not None and queue and found.admitted is None:
            found.queue = queue

    def hold(self, key: str, queue: str, assignments: tuple[PodSetAssignment, ...], at: Millis) -> None:
        """Quota is reserved for it from now on."""
        self.release(key, at)
        self._holds[key] = (at, queue, assignments)
        found = self.found.get(key)
        if found is not None:
            found.queue = queue
            found.reserved = found.reserved if found.reserved is not None else at
            found.flavors = tuple(sorted({flavor for one in assignments for flavor in one.flavors.values()}))

    def admit(self, key: str, at: Millis) -> None:
        """It is admitted; only the first time counts."""
        found = self.found.get(key)
        if found is not None and found.admitted is None:
            found.admitted = at

    def preempt(self, key: str, preemptor: str, at: Millis) -> None:
        """It is preempted by another workload."""
        del at
        self.preemptions += 1
        found, other = self.found.get(key), self.found.get(preemptor)
        if found is not None:
            found.preempted += 1
            pair = (found.queue, other.queue if other is not None else "")
            self.pairs[pair] = self.pairs.get(pair, 0) + 1

    def release(self, key: str, at: Millis) -> None:
        """Its quota is released."""
        held = self._holds.pop(key, None)
        if held is None:
            return
        since, queue, assignments = held
        for one in assignments:
            for resource, amount in one.usage.items():
                name = (queue, one.flavors.get(resource, ""), resource)
                self.used[name] = self.used.get(name, 0) + amount * (at - since)

    def finish(self, key: str, at: Millis) -> None:
        """It has finished."""
        self.release(key, at)
        found = self.found.get(key)
        if found is not None:
            found.finished = at

    def gone(self, key: str, at: Millis) -> None:
        """Its object was deleted."""
        self.release(key, at)
        found = self.found.get(key)
        if found is not None:
            found.gone = True

    def close(self, at: Millis) -> None:
        """The run is over."""
        self.ended = at
        for key in list(self._holds):
            self.release(key, at)

    def results(self) -> RunResults:
        """All of it as one value, which other processes can be sent."""
        return RunResults(
            began=self.began,
            ended=self.ended,
            outcomes=self.found,
            used=[(*name, amount) for name, amount in sorted(self.used.items())],
            preemptions=self.preemptions,
            pairs=[(*pair, count) for pair, count in sorted(self.pairs.items())],
        )


def percentile(values: Sequence[Millis], per_cent: int) -> Millis:
    """The smallest value that so many per cent do not exceed; the values are sorted."""
    return values[max(-(-len(values) * per_cent // 100) - 1, 0)] if values else 0


def waits(results: RunResults) -> dict[tuple[str, str], list[Millis]]:
    """How long each waited, sorted, by cluster queue and class."""
    found: dict[tuple[str, str], list[Millis]] = {}
    for one in results.outcomes.values():
        if not one.gone or one.admitted is not None:
            found.setdefault((one.queue, one.kind), []).append(one.waited(results.ended))
    return {name: sorted(rows) for name, rows in sorted(found.items())}


def still_waiting(outcomes: Iterable[WorkloadOutcome]) -> int:
    """How many were never admitted."""
    return sum(one.admitted is None and not one.gone for one in outcomes)
