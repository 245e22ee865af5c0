"""The laws that every history obeys, whatever went wrong in it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from events.api.labels import DECISION, QUEUE_NAME
from events.codec import NotOurs, decode_sighting
from events.event import Millis
from events.settings import SettingsObserved
from events.subjects import CONTROL, FACTS, addressee, fact_subject
from events.workload import WorkloadSubmitted
from ops.production.archive.proof.evidence import Evidence
from ops.production.log.streams import streams_in
from ops.queries.audit.verify import Auditor
from ops.queries.replay import fold_partition
from ops.sandbox.embedded_cluster.selection import look
from ops.sandbox.embedded_cluster.store import ObjectChange, Store
from ops.sandbox.simulate.claim_laws import devices_held_twice, left_of_claims
from ops.sandbox.simulate.partition_laws import PartitionLaws, hold_partition
from projections.amiss import AUTHOR, TIME
from projections.budgets.budget_usage import NOTHING_USED, settled
from projections.budgets.counting import usage_of
from projections.budgets.partitions import counted_here, is_shared
from projections.partitions.lineage import lineage
from projections.state_hash import tables
from projections.workloads.decision_mark import number_in
from projections.world import World
from services.runtime.control_log import Control
from services.runtime.log_port import Entry
from services.runtime.partition.fold import PartitionFold
from services.watcher.settings.watched_kinds import CLUSTER_KINDS
from services.watcher.view import View

Entries = dict[str, list[Entry]]
_JOBS, _PODS, _WORKLOADS = "jobs.batch", "pods", "workloads.kueue.x-k8s.io"
_OVER = ("Succeeded", "Failed")
_MOST_REPORTED = 5


class Aftermath(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a history when it is over."""

    entries: Entries
    store: Store
    """The objects in its cluster."""
    changes: Sequence[ObjectChange]
    """Every change of a Job, in order."""
    settings: SettingsObserved
    now: Millis
    stray: Collection[tuple[str, int]] = ()
    """Messages stored by a fault, by stream and sequence."""
    claims: Sequence[ObjectChange] = ()
    """Every change of a ResourceClaim, in order."""


def unsettled(store: Store) -> list[str]:
    """What has not come to its end in the cluster."""
    found: list[str] = []
    deactivated = _deactivated(store)
    for (namespace, name), job in sorted(store.of(_JOBS).items()):
        if not has_ended(job) and job["metadata"]["uid"] not in deactivated:
            how = "waiting" if job["spec"].get("suspend") else "running"
            found.append(f"job {namespace}/{name} never ends: it is {how}")
    for (namespace, name), pod in sorted(store.of(_PODS).items()):
        if pod["metadata"].get("deletionTimestamp"):
            found.append(f"pod {namespace}/{name} never goes: it is being deleted")
        elif _runs_alone(pod):
            found.append(f"pod {namespace}/{name} never ends")
    return found


def _runs_alone(pod: dict[str, Any]) -> bool:
    """Whether it is on a node, nobody's, and not over."""
    owned = pod["metadata"].get("ownerReferences")
    return bool(look(pod, "spec.nodeName")) and not owned and look(pod, "status.phase") not in _OVER


def _deactivated(store: Store) -> set[str]:
    """Jobs that nobody tries to start again until a user says otherwise, by UID."""
    return {
        owner["uid"]
        for workload in store.of(_WORKLOADS).values()
        if workload["spec"].get("active") is False
        for owner in workload["metadata"].get("ownerReferences") or ()
    }


def broken_laws(aftermath: Aftermath) -> list[str]:
    """What the history broke, each with what and where."""
    entries = aftermath.entries
    streams = streams_in(entries)
    judged = {name: hold_partition(name, entries, cards=False) for name in streams.trees}
    given, _, broken_by_cards = hold_partition(streams.pool, entries, cards=True)
    folds = [fold for fold, _, _ in judged.values()]
    broken = [one for _, _, found in judged.values() for one in found]
    broken += broken_by_cards
    broken += _chain(entries)
    books = {name: book for name, (_, book, _) in judged.items()}
    broken += _runs_unadmitted(aftermath, books)
    broken += _held(folds, given)
    broken += _disagreements(aftermath, folds)
    broken += _decided_twice(folds, books)
    broken += _routed(aftermath, folds)
    broken += heard(folds)
    broken += devices_held_twice(entries.get(FACTS, ()), aftermath.claims)
    for fold in (*folds, given):
        broken += left_of_claims(fold.world, aftermath.store)
    broken += [one for fold in folds for one in _outdated(aftermath, fold.world)]
    for world in (*(fold.world for fold in folds), given.world):
        broken += _amiss(aftermath, world)
        broken += _ahead_of_time(aftermath, world)
    return broken[:_MOST_REPORTED]


def _chain(entries: Entries) -> list[str]:
    skipped = Control(entries.get(CONTROL, ())).skipped
    report = Auditor(Evidence()).examine(entries)
    return [f"audit: {one.place}: {one.detail}" for one in report.changes if (one.stream, one.sequence) not in skipped]


def _runs_unadmitted(aftermath: Aftermath, books: Mapping[str, PartitionLaws]) -> Iterator[str]:
    """Every start of a job that a queue manages bears a decision under which its workload was admitted."""
    keys = _workloads_of_jobs(aftermath.entries)
    for change in aftermath.changes:
        if change.type == "DELETED":
            continue
        job, before = change.object, change.before
        meta = job["metadata"]
        was_on_hold = before is None or before["spec"].get("suspend")
        if not (meta.get("labels") or {}).get(QUEUE_NAME) or job["spec"].get("suspend") or not was_on_hold:
            continue
        decision = (meta.get("annotations") or {}).get(DECISION, "")
        if not any(
            book.admitted_at(key, number_in(decision))
            for partition, book in books.items()
            if decision.startswith(f"{partition}/")
            for key in (*keys.get(meta["uid"], ()), *book.slices.get(meta["uid"], ()))
        ):
            yield f"job {meta['name']} was started under {decision}, at which its workload was not admitted"


def _workloads_of_jobs(entries: Entries) -> dict[str, list[str]]:
    """By UID of a job its workloads: an elastic one has several, one after the other."""
    found: dict[str, list[str]] = {}
    for entry in entries.get(FACTS, ()):
        try:
            fact = decode_sighting(entry.data).fact
        except NotOurs:
            continue
        if isinstance(fact, WorkloadSubmitted) and fact.owner is not None:
            found.setdefault(fact.owner.uid, []).append(fact.workload)
    return found


def _held(decided: Sequence[PartitionFold], given: PartitionFold) -> Iterator[str]:
    """When all has come to rest, nobody holds quota or cards."""
    for fold in decided:
        for name, node in sorted(fold.world.quota.queues.items()):
            for (flavor, resource), used in fold.world.quota.usage_by_name(node).items():
                yield f"queue {name} still uses {used} of {resource} in flavor {flavor}"
        yield from _held_places(fold.world)
    for world, partition in ((fold.world, fold.partition) for fold in (*decided, given)):
        for key in sorted(world.cards.holdings):
            yield f"{partition}: cards are still held by {key}"
        for uuid, use in sorted(world.cards.used.items()):
            if use.slots:
                yield f"{partition}: card {uuid} is still taken: {use}"
    for preemptor in sorted(one for fold in decided for one in fold.world.requests):
        yield f"the request for room of {preemptor} is still open"


def _held_places(decided: World) -> Iterator[str]:
    for key in sorted(decided.domains.held()):
        yield f"places are still held by {key}"
    for node, usage in sorted(decided.node_usage.items()):
        if any(usage.values()):
            yield f"pods that no queue manages still count on node {node}: {usage}"


def _disagreements(aftermath: Aftermath, decided: Sequence[PartitionFold]) -> Iterator[str]:
    """Where the log and the cluster say different things about the same."""
    store = aftermath.store
    objects = store.of(_WORKLOADS)
    known = {key: workload for fold in decided for key, workload in fold.world.workloads.items()}
    for key, workload in sorted(known.items()):
        found = objects.get((workload.namespace, workload.name))
        if found is None:
            yield f"workload {key} is on the log and not in the cluster"
        elif workload.decided > workload.applied or (workload.finished and not workload.finish_shown):
            yield f"workload {key} is decided up to {workload.decided} and applied up to {workload.applied}"
        elif workload.finished is not _is_finished(found):
            yield f"workload {key} is {'' if workload.finished else 'not '}finished on the log, and the cluster differs"
    for namespace, name in sorted(objects):
        if f"{namespace}/{name}" not in known:
            yield f"workload {namespace}/{name} is in the cluster and not on the log"
    for (namespace, name), pod in sorted(store.of(_PODS).items()):
        if look(pod, "status.phase") not in _OVER:
            yield f"pod {namespace}/{name} still runs"


def _decided_twice(decided: Sequence[PartitionFold], books: Mapping[str, PartitionLaws]) -> Iterator[str]:
    """What several partitions decide about, each without the others."""
    places: dict[str, list[str]] = {}
    for fold in decided:
        for key in fold.world.workloads:
            places.setdefault(f"workload {key}", []).append(fold.partition)
    for partition, book in books.items():
        for name in book.queues - _left(decided, partition):
            places.setdefault(f"queue {name}", []).append(partition)
    for what, partitions in sorted(places.items()):
        if len(partitions) > 1:
            yield f"{what} is decided in {' and '.join(partitions)}"


def _left(decided: Sequence[PartitionFold], partition: str) -> set[str]:
    """The queues that moved away from a partition."""
    world = next(fold.world for fold in decided if fold.partition == partition)
    return {name for name, home in world.homes.items() if partition in lineage(world.forks, home)[:-1]}


def _routed(aftermath: Aftermath, decided: Sequence[PartitionFold]) -> Iterator[str]:
    """A partition that reads every fact, as if each were for all, folds the very same as one that leaves out what is for others.

    Only of what is amiss it takes less note.
    """
    if len(decided) == 1:
        return
    facts = [replace(one, subject=_for_all(one.subject)) for one in aftermath.entries.get(FACTS, ())]
    for fold in decided:
        everything, _ = fold_partition(fold.partition, {**aftermath.entries, FACTS: facts})
        read, left_out = dict(tables(everything.world)), dict(tables(fold.world))
        for name in sorted(({*read, *left_out}) - {"amiss"}):
            if read.get(name) != left_out.get(name):
                yield f"{fold.partition} lacks facts that are for others alone: its {name} differ"


def heard(decided: Sequence[PartitionFold]) -> Iterator[str]:
    """At rest each partition reckons of every other one just what that has counted of the budgets that they share."""
    at = max((usage.at for fold in decided for usage in fold.world.budgets.values()), default=0)
    for fold in decided:
        for scope in sorted(fold.world.budgets):
            if not is_shared(fold.world, scope):
                continue
            counted = counted_here(settled(fold.world.budgets[scope], at))
            for other in decided:
                usage = usage_of(other.world.budgets, scope, at) if other is not fold else None
                heard = usage.heard.get(fold.partition, NOTHING_USED) if usage is not None else counted
                if heard != counted:
                    yield f"{other.partition} reckons {heard} of {scope} in {fold.partition}, which has counted {counted}"


def _for_all(subject: str) -> str:
    return fact_subject("", subject.rpartition(".")[2]) if addressee(subject) else subject


def _outdated(aftermath: Aftermath, world: World) -> Iterator[str]:
    """What a watcher that sees the cluster for the first time would report is what the log holds already."""
    known = {
        "ClusterQueueObserved": world.cluster_queues,
        "CohortObserved": world.cohorts,
        "LocalQueueObserved": world.local_queues,
        "FlavorObserved": world.flavors,
        "TopologyObserved": world.topologies,
        "NodeObserved": world.nodes,
        "DevicesRegistered": world.registered,
    }
    view = View(settings=aftermath.settings)
    for resource in CLUSTER_KINDS:
        key = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
        for (namespace, name), value in sorted(aftermath.store.of(key).items()):
            for fact in view.see(resource.kind, value):
                table: dict[str, Any] | None = known.get(type(fact).__name__)
                place = f"{namespace}/{name}" if namespace else name
                if table is not None and table.get(place) != fact:
                    yield f"{resource.kind} {place} is otherwise on the log than in the cluster"


def _amiss(aftermath: Aftermath, world: World) -> Iterator[str]:
    """Nothing that a service itself has stored is amiss, except by the time of a watcher, whose clock may be wrong."""
    for one in world.amiss.values():
        if one.what == AUTHOR and (one.stream, one.sequence) not in aftermath.stray:
            yield f"{one.stream}/{one.sequence} of {one.author} does not count: {one.detail}"
        if one.what == TIME and one.stream != FACTS:
            yield f"{one.stream}/{one.sequence} was decided ahead of time: {one.detail}"


def _ahead_of_time(aftermath: Aftermath, world: World) -> Iterator[str]:
    """No message has a time that is still to come."""
    for key, workload in sorted(world.workloads.items()):
        for one in workload.conditions.values():
            if one.since > aftermath.now:
                yield f"workload {key} is {one.type} since {one.since - aftermath.now} ms from now"


def _is_finished(workload: dict[str, Any]) -> bool:
    return any(
        one["type"] == "Finished" and one["status"] == "True" for one in look(workload, "status.conditions") or ()
    )


def has_ended(job: dict[str, Any]) -> bool:
    """Whether a Job is over, well or not."""
    conditions = look(job, "status.conditions") or ()
    return any(one["type"] in ("Complete", "Failed") and one["status"] == "True" for one in conditions)
