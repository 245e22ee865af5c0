"""Slices of an elastic job: which of them holds its quota and pods, which waits, and what the next one is called.

An elastic job has a chain of workloads, named by the first of them. At most one slice holds quota; at most one newer slice
waits to take its place.

Rule: docs/rules/elastic.md
"""

import hashlib
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from events.pod_set import PodSet
from events.topology import TopologyDomain, TopologyPlacement
from events.workload import PodSetAssignment
from projections.workloads.lifecycle import FINISHED, Workload, chain_of
from projections.workloads.state import WorkloadState

ELASTIC_JOBS = "ElasticJobsViaWorkloadSlices"
REPLACED = "WorkloadSliceReplaced"
"""The reason of Finished of a slice that another one has replaced."""
_NAME_LIMIT = 63
_DIGEST = 5


def is_replaced(workload: Workload) -> bool:
    """Whether it is over because another slice of its job has taken its place, and not because the job has ended."""
    over = workload.condition(FINISHED)
    return over is not None and over.reason == REPLACED


def slices_of(world: WorkloadState, chain: str) -> list[Workload]:
    """The slices of a chain that are not over, each behind the one that it is to replace."""
    live = [one for key in world.chains.get(chain, ()) if not (one := world.workloads[key]).finished]
    replaced = {one.spec.replaces for one in live}
    return sorted(live, key=lambda one: (one.key not in replaced, one.created_at, one.key))


def slices_beside(world: WorkloadState, key: str) -> list[str]:
    """All slices of the job of one of them, also those that are over; a workload without others is alone."""
    workload = world.workloads.get(key)
    if workload is None or not workload.spec.elastic:
        return [key]
    return sorted({key, *world.chains.get(chain_of(workload), ())})


def holder_of(world: WorkloadState, key: str) -> str:
    """The slice to which the job's pods belong, and whom it concerns how the job stands: the one with quota, else the newest.

    `key` is that of the chain; any other is its own answer.
    """
    live = slices_of(world, key) if key in world.chains else []
    if not live:
        return key
    return next((one.key for one in reversed(live) if one.reserved), live[-1].key)


def steers_job(world: WorkloadState, workload: Workload) -> bool:
    """Whether the job is started and stopped on behalf of this slice.

    One that waits beside another that runs leaves the job alone, and so does one that goes on where the other was until it
    is admitted.
    """
    if not workload.spec.elastic:
        return True
    goes_on = workload.resizing.continues and not workload.admitted and not workload.evicted
    return not goes_on and holder_of(world, chain_of(workload)) == workload.key


def replaced_slice(world: WorkloadState, workload: Workload) -> Workload | None:
    """The slice that holds quota and whose place the workload takes, if there is one."""
    if not workload.spec.replaces:
        return None
    old = world.workloads.get(workload.spec.replaces)
    if old is None or old.admission is None or old.finished or old.namespace != workload.namespace:
        return None
    return old


def replaced_in(world: WorkloadState, workload: Workload, cluster_queue: str) -> Workload | None:
    """The same, if it holds its quota in this cluster queue."""
    old = replaced_slice(world, workload)
    return old if old is not None and old.admission and old.admission.cluster_queue == cluster_queue else None


def counts_of(pod_sets: Iterable[PodSet] | Iterable[PodSetAssignment]) -> dict[str, int]:
    """How many pods each pod set has, or was let in with."""
    return {one.name: one.count for one in pod_sets}


def resizes(pod_sets: Sequence[PodSet], wanted: Sequence[PodSet]) -> bool:
    """Whether a job wants pod sets of other names or sizes: whatever else it asks for, its pods go on as they were let in."""
    return [(one.name, one.count) for one in pod_sets] != [(one.name, one.count) for one in wanted]


def shrinks(pod_sets: Sequence[PodSet], wanted: Sequence[PodSet]) -> bool:
    """Whether some pod sets become smaller and none larger, with nothing else about them changed."""
    if [one.name for one in pod_sets] != [one.name for one in wanted]:
        return False
    pairs = [(one.count, other.count) for one, other in zip(pod_sets, wanted, strict=True)]
    return any(after < before for before, after in pairs) and all(after <= before for before, after in pairs)


def next_slice(world: WorkloadState, workload: Workload) -> str:
    """The key of the slice that is to replace a workload: none of the chain has had it."""
    chain = chain_of(workload)
    number = len(world.chains.get(chain, ()))
    while True:
        digest = hashlib.sha1(f"{workload.key}\n{number}".encode(), usedforsecurity=False).hexdigest()[:_DIGEST]
        key = f"{chain[: len(workload.namespace) + _NAME_LIMIT - _DIGEST]}-{digest}"
        if key not in world.workloads:
            return key
        number += 1


def with_fewer(given: PodSetAssignment, count: int) -> PodSetAssignment:
    """The assignment of a pod set that has become smaller: each pod that stays keeps what it used, the first their places."""
    if count >= given.count:
        return given
    usage = {name: amount // given.count * count for name, amount in given.usage.items()}
    topology = None if given.topology is None else _with_fewer(given.topology, count)
    return replace(given, count=count, usage=usage, topology=topology)


def _with_fewer(given: TopologyPlacement, count: int) -> TopologyPlacement:
    domains: list[TopologyDomain] = []
    for domain in given.assignment.domains:
        if count > 0:
            domains.append(replace(domain, count=min(domain.count, count)))
        count -= domain.count
    return replace(given, assignment=replace(given.assignment, domains=tuple(domains)))
