"""At which scheduling gates pods of workloads are held, and which of them a fact shows to be gone.

Rule: docs/metrics.md#gates
"""

from collections.abc import Iterator, Mapping

import msgspec

from events.api.labels import ADMISSION_GATE, ELASTIC_JOB, TOPOLOGY_GATE
from events.device import PodObserved
from events.workload import MemberState, WorkloadSpec
from projections.trail import Trail


class HeldPod(msgspec.Struct, frozen=True, gc=False):
    """A pod that was last seen at a gate."""

    uid: str
    gates: tuple[str, ...]


Held = Mapping[str, HeldPod]
"""By `namespace/name`."""


class GateRemovals:
    """The pods that are placed by topology or belong to elastic jobs, as far as they are held."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self.held: dict[str, HeldPod] = {}

    def seen(self, pod: PodObserved) -> tuple[str, ...]:
        """The gates at which a pod was held and is no longer."""
        place = f"{pod.namespace}/{pod.name}"
        before, gates = self.held.get(place), gates_of(pod)
        if gates:
            self._trail.put(self.held, place, HeldPod(pod.uid, gates))
        elif before is not None:
            self._trail.drop(self.held, place)
        if before is None or before.uid != pod.uid or pod.terminating:
            return ()
        return tuple(one for one in before.gates if one not in gates)

    def gone(self, namespace: str, name: str) -> None:
        """A pod is gone, with the gates that it may have had."""
        self._trail.drop(self.held, f"{namespace}/{name}")


def gates_of(pod: PodObserved) -> tuple[str, ...]:
    """The gates of Kueue's that a pod was seen at, but for the one that whole workloads wait at."""
    at_topology = pod.topology is not None and pod.topology.gated
    return (*((TOPOLOGY_GATE,) if at_topology else ()), *((ELASTIC_JOB,) if pod.waits_for_slice else ()))


def waiting_members(spec: WorkloadSpec) -> tuple[str, ...]:
    """By UID the pods of a workload that wait at its gate until it is admitted."""
    return tuple(one.uid for one in spec.members if one.state is MemberState.GATED)


def let_through(waiting: tuple[str, ...], spec: WorkloadSpec) -> Iterator[str]:
    """For each pod that waited and is seen to be let through, the gate that it waited at."""
    for one in spec.members:
        if one.uid in waiting and one.state is MemberState.LIVE:
            yield ADMISSION_GATE
