"""The preemption gates of workloads: who bears one that is not open preempts nobody.

Rule: docs/rules/cycle.md#preemption-gates
"""

from msgspec.structs import replace

from events.api.labels import CONCURRENT_ADMISSION_GATE
from events.settings import SettingsObserved
from events.workload import GateState
from projections.feature_gates import enabled
from projections.log_position import LogPosition
from projections.workloads.lifecycle import Workload

_FEATURES = ("MultiKueueOrchestratedPreemption", "ConcurrentAdmission")


def closed_gates(settings: SettingsObserved, workload: Workload) -> tuple[str, ...]:
    """The preemption gates of the workload that are not open; none where no feature is on that looks at them."""
    if not _are_looked_at(settings):
        return ()
    return tuple(
        name for name in workload.spec.preemption_gates if (gate := workload.gates.get(name)) is None or not gate.open
    )


def with_preemption_gates(settings: SettingsObserved, workload: Workload, position: LogPosition) -> Workload:
    """The workload with a state for each of its preemption gates and for no other; a new one is closed."""
    if not _are_looked_at(settings):
        return workload
    gates = {
        name: workload.gates.get(name) or GateState(name=name, since=position.at)
        for name in workload.spec.preemption_gates
    }
    return workload if gates == workload.gates else replace(workload, gates=gates)


def with_preemption_gate(workload: Workload, gate: GateState) -> Workload:
    """The workload with a gate turned; as it is where it has no such gate, or where that stands so already."""
    before = workload.gates.get(gate.name)
    if gate.name not in workload.spec.preemption_gates or (before is not None and before.open) == gate.open:
        return workload
    return replace(workload, gates={**workload.gates, gate.name: gate})


def turned_by_others(gate: str) -> bool:
    """Whether it is for somebody else to open a gate of this name, on the Workload object."""
    return gate != CONCURRENT_ADMISSION_GATE


def has_gates_of_others(workload: Workload) -> bool:
    """Whether others open and close gates of the workload."""
    return any(map(turned_by_others, workload.gates))


def _are_looked_at(settings: SettingsObserved) -> bool:
    return any(enabled(settings, feature) for feature in _FEATURES)
