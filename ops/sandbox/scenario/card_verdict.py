"""Whether what a scenario expects of cards was seen: differences reported and resolved, cards back, shortages over."""

from collections.abc import Mapping, Sequence

import msgspec

from events.catalogue import AnyEvent
from events.device import CapacityCovered, CapacityShort, CardReturned, DriftDetected, DriftResolved
from ops.production.log.streams import streams_in
from ops.queries.replay import fold_up, listen
from ops.sandbox.scenario.script import Script
from projections.devices.holdings.drift import NOTES, all_findings
from projections.log_position import LogPosition
from projections.workloads.timeline import Timeline
from services.runtime.log_port import Entry


class CardVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One expectation, and whether it held."""

    what: str
    held: bool
    seen: str = ""


def judge_cards(script: Script, entries: Mapping[str, Sequence[Entry]], timeline: Timeline) -> list[CardVerdict]:
    """Everything that a scenario expects of cards, by the log alone."""
    events: list[AnyEvent] = []

    def note(event: AnyEvent, position: LogPosition) -> None:
        del position
        events.append(event)

    listen({name: entries[name] for name in streams_in(entries).pools}, note)
    findings = [_drift(expected.kind, expected.holder, events, timeline) for expected in script.drift]
    for card in script.returned:
        back = any(isinstance(event, CardReturned) and event.card == card for event in events)
        findings.append(CardVerdict(what=f"{card} comes back into service", held=back))
    for flavor in script.short:
        short = {event.resource for event in events if isinstance(event, CapacityShort) and event.flavor == flavor}
        over = {event.resource for event in events if isinstance(event, CapacityCovered) and event.flavor == flavor}
        findings.append(
            CardVerdict(
                what=f"the cards of {flavor} are reported short of its quota, and later to cover it",
                held=bool(short) and short == over,
                seen=", ".join(sorted(short)),
            )
        )
    if script.drift:
        world = fold_up(streams_in(entries).pool, entries).world
        left = [one for one in all_findings(world.cards, world.nodes, world.pods) if one.kind not in NOTES]
        findings.append(
            CardVerdict(
                what="at the end log, annotations and pods agree about every card",
                held=not left and not world.cards.care.told,
                seen="; ".join(f"{one.kind} {one.card} {one.holder}" for one in left),
            )
        )
    return findings


def _drift(kind: str, holder: str, events: Sequence[AnyEvent], timeline: Timeline) -> CardVerdict:
    """Whether such a difference was reported, and every one of its kind and holder was resolved."""

    def is_of(name: str) -> bool:
        return not holder or holder in (name, timeline.jobs.get(name, ""))

    reported = [
        (e.card, e.holder) for e in events if isinstance(e, DriftDetected) and e.kind == kind and is_of(e.holder)
    ]
    over = [(e.card, e.holder) for e in events if isinstance(e, DriftResolved) and e.kind == kind and is_of(e.holder)]
    return CardVerdict(
        what=f"{kind} is reported for {holder or 'a card'}, and resolved",
        held=bool(reported) and sorted(reported) == sorted(over),
        seen=", ".join(sorted({card for card, _ in reported})),
    )
