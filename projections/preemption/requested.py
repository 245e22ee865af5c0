"""Open preemption requests: each ends with its answer, and means its victims as they were admitted when it was made."""

from collections.abc import Mapping

from events.admission import PreemptionRequested, Victim
from projections.preemption.state import PreemptionState
from projections.trail import Trail
from projections.workloads.lifecycle import Workload

ANY_ADMISSION = 0
"""The admission of victims in old logs, which do not record it: any reservation of theirs is meant."""


def still_holds(workloads: Mapping[str, Workload], victim: Victim) -> Workload | None:
    """The victim, while it holds what it held when it was found; None when it has left, even if it came back since."""
    workload = workloads.get(victim.workload)
    if workload is None or workload.admission is None or workload.finished:
        return None
    return workload if victim.admission in (ANY_ADMISSION, workload.admission.reservation) else None


def open_request(world: PreemptionState, request: PreemptionRequested) -> None:
    """A workload asks for room, whatever it has asked for before."""
    world.trail.put(world.requests, request.workload, request)
    world.trail.drop(world.answered, request.workload)
    world.request_work.mark_dirty(request.workload)


def answer_request(
    requests: dict[str, PreemptionRequested], answered: dict[str, int], trail: Trail, preemptor: str, sequence: int
) -> None:
    """The preemptor's request is answered by the decision at this sequence: nobody else has to go for it."""
    if preemptor in requests:
        trail.put(answered, preemptor, sequence)


def end_request(
    requests: dict[str, PreemptionRequested], answered: dict[str, int], trail: Trail, preemptor: str
) -> None:
    """Nobody makes room for it any more, and it waits for nobody."""
    trail.drop(requests, preemptor)
    trail.drop(answered, preemptor)
