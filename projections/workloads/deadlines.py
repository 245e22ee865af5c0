"""When time alone changes what has to happen to a workload: back-off over, pods not ready in time, run too long, hanging."""

from events.event import Millis
from events.settings import SettingsObserved
from projections.workloads.lifecycle import ADMITTED, EVICTED, FINISHED, Workload
from projections.workloads.pods import pods_hold_until
from projections.workloads.pods_ready import pods_ready_until

DEACTIVATED_DUE_TO = "DeactivatedDueTo"


def backoff_until(workload: Workload) -> Millis | None:
    """The time before which the workload may not queue again."""
    return None if workload.reserved or workload.finished else workload.stops.requeue.at


def runs_until(workload: Workload) -> Millis | None:
    """The time at which its maximum execution time is used up, be it while the pods of its eviction still end.

    A variant is evicted and given up for one and the same reason, so its time ends with its eviction.
    """
    most, admitted = workload.spec.max_execution, workload.true_since(ADMITTED)
    if most is None or admitted is None:
        return None
    if workload.evicted and (workload.spec.variant_of or not workload.spec.active):
        return None
    return admitted + most - workload.stops.past_execution


def kept_until(workload: Workload, settings: SettingsObserved) -> Millis | None:
    """Until when its object stays after the end, or after Kueue's own rules have deactivated it; None for ever."""
    if workload.in_cluster.discarded:
        return None
    finished, evicted = workload.true_since(FINISHED), workload.true_since(EVICTED)
    if finished is not None:
        return None if settings.retain_finished is None else finished + settings.retain_finished
    if settings.retain_deactivated is None or workload.spec.active or workload.reserved or evicted is None:
        return None
    by_rule = workload.conditions[EVICTED].reason.startswith(DEACTIVATED_DUE_TO)
    return evicted + settings.retain_deactivated if by_rule else None


def next_deadline(workload: Workload, settings: SettingsObserved) -> Millis | None:
    """When something about a workload is due next: back-off over, pods not ready, run for too long, hanging, or kept long enough; None if nothing is."""
    if workload.finished:
        return kept_until(workload, settings)
    rule = settings.pods_ready
    times = (
        backoff_until(workload),
        None if rule is None else pods_ready_until(workload, rule),
        runs_until(workload),
        pods_hold_until(workload),
        kept_until(workload, settings),
    )
    return min((time for time in times if time is not None), default=None)
