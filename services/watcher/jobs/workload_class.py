"""The WorkloadPriorityClass of who has another priority than he says: a job that names none, and a Workload without a job.

Rules: docs/rules/queues.md#default-class, docs/rules/queues.md#class-changes
"""

from collections.abc import Mapping

from msgspec.structs import replace

from events.quota import PriorityClassObserved
from events.settings import SettingsObserved
from events.workload import PriorityRef, WorkloadSpec
from projections.feature_gates import enabled
from services.watcher.jobs.jobs import JobState

DEFAULT_CLASS = PriorityRef(name="default", workload=True)
_PLACE = "WorkloadPriorityClass/default"


def in_class(
    state: JobState,
    before: WorkloadSpec | None,
    classes: Mapping[str, PriorityClassObserved],
    settings: SettingsObserved,
) -> JobState:
    """A workload in its class. `before` is what was reported of it, or what its Workload asks for that was there before it was.

    A job that was there before the class does not get it, and one that has it keeps it until it names another.
    """
    spec = state.spec
    if state.owner is None:
        return _with_value(state, classes)
    if spec.workload_class is not None:
        return state
    found = classes.get(_PLACE)
    if before is None:
        takes = found is not None and enabled(settings, "WorkloadPriorityClassDefaulting")
    else:
        takes = before.priority_class == DEFAULT_CLASS
    if not takes:
        return state
    value = found.value if found is not None else before.priority if before is not None else spec.priority
    return replace(state, spec=replace(spec, priority=value, priority_class=DEFAULT_CLASS))


def _with_value(state: JobState, classes: Mapping[str, PriorityClassObserved]) -> JobState:
    """A Workload without a job with what the class that it names comes to here; the copy of another cluster has what it had there."""
    named = state.spec.workload_class
    if named is None or state.spec.origin:
        return state
    found = classes.get(f"WorkloadPriorityClass/{named.name}")
    return state if found is None else replace(state, spec=replace(state.spec, priority=found.value))
