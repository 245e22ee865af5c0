"""Every preemption on a log: which workload had to stop, for which, by which rule, and what its stop wasted."""

from collections.abc import Mapping, Sequence

import msgspec

from events.admission import PreemptionRequested
from events.json_object import JsonObject
from events.preemption import PreemptionOrdered
from ops.queries.billing.card_sums import plain_waste
from ops.queries.stored import Stored, in_order
from projections.billing.ledger import Ledger
from projections.explanation.words import StoppedOnce
from projections.preemption.message import HUMAN_REASONS
from services.runtime.log_port import Entry


def preemption(
    ordered: Stored, event: PreemptionOrdered, request: tuple[Stored, PreemptionRequested] | None
) -> StoppedOnce:
    """One preemption, with the request that led to it where the log has it; without shares before and after."""
    stop = StoppedOnce(
        at=ordered.at,
        partition=ordered.entry.stream,
        sequence=ordered.entry.sequence,
        kind="preempted",
        reason=event.reason,
        message=event.message,
        by=event.preemptor,
        rule=HUMAN_REASONS.get(event.reason, event.reason),
    )
    if request is None:
        return stop
    where, requested = request
    return msgspec.structs.replace(
        stop,
        requested=f"{where.entry.stream}/{where.entry.sequence}",
        victims=tuple(victim.workload for victim in requested.victims),
        considered=requested.candidates,
    )


def preemptions_answer(entries: Mapping[str, Sequence[Entry]], ledger: Ledger) -> JsonObject:
    """All preemptions in the order of their time, and all attempts that were cut short, as a bill lists them."""
    requests: dict[str, tuple[Stored, PreemptionRequested]] = {}
    found: list[JsonObject] = []
    for one in in_order(entries):
        event = one.event
        if isinstance(event, PreemptionRequested):
            requests[event.workload] = (one, event)
        elif isinstance(event, PreemptionOrdered):
            request = requests.get(event.preemptor)
            stop = msgspec.to_builtins(preemption(one, event, request))
            queue = request[1].cluster_queue if request is not None else ""
            found.append({**stop, "workload": event.workload, "preemptor_queue": queue})
    return {"preemptions": found, "cut_short": msgspec.to_builtins(plain_waste(ledger))}
