"""Whether what a scenario expects was seen to happen, judged by the log alone."""

from collections.abc import Mapping, Sequence

import msgspec

from events.admission import AdmissionRefused, QuotaReserved, WorkloadAdmitted
from events.multikueue import ClusterChosen
from events.preemption import PreemptionOrdered
from events.workload import WorkloadFinished, WorkloadParked
from ops.production.log.streams import streams_in
from ops.queries.replay import fold_partition, listen
from ops.sandbox.scenario.card_verdict import CardVerdict, judge_cards
from ops.sandbox.scenario.script import Expectation, Script
from projections.devices.holdings.card_time import CardTime
from projections.explanation.read_models import state_of
from projections.workloads.lifecycle import QUOTA_RESERVED, Workload
from projections.workloads.timeline import Timeline, WorkloadMoment
from services.runtime.log_port import Entry
from services.runtime.partition.fold import PartitionFold


class RunVerdict(msgspec.Struct, kw_only=True):
    """The outcome of a run, judged from its log alone."""

    timeline: Timeline
    cards: CardTime
    fold: PartitionFold
    findings: list[CardVerdict]

    @property
    def held(self) -> bool:
        """Every expectation held."""
        return all(finding.held for finding in self.findings)


def judge(script: Script, entries: Mapping[str, Sequence[Entry]]) -> RunVerdict:
    """Fold the log from zero, twice, decide everything again, and compare with what was expected."""
    timeline, cards = Timeline(), card_time_of(entries)
    listen(entries, timeline.fold)
    findings: list[CardVerdict] = []
    for expectation in script.expect:
        findings.extend(_judge(expectation, timeline))
    findings.extend(judge_cards(script, entries, timeline))
    streams = streams_in(entries)
    fold, first = fold_partition(streams.sole, entries, verify=True)
    _, second = fold_partition(streams.sole, entries)
    devices, third = fold_partition(streams.pool, entries, verify=True)
    decided = first.commits + third.commits
    differing = first.differences + third.differences
    findings.append(
        CardVerdict(
            what="every decision, decided again on the state it was made on, gives the same bytes",
            held=not differing,
            seen=f"{decided - len(differing)} of {decided} commits"
            + (f"; first difference: {differing[0].partition} {differing[0].sequence}" if differing else ""),
        )
    )
    findings.append(
        CardVerdict(
            what="the log folded from zero twice gives the same state",
            held=first.state_hash == second.state_hash,
            seen=first.state_hash,
        )
    )
    findings.append(
        CardVerdict(
            what="every card is given back at the end",
            held=not devices.world.cards.holdings,
            seen=f"{len(devices.world.cards.holdings)} still held",
        )
    )
    if not script.expect:
        open_ended = [f"{w.key} is {_standing(w)}" for w in fold.world.workloads.values() if not w.finished]
        seen = f"{len(fold.world.workloads)} workloads, open: {', '.join(open_ended) or 'none'}"
        if not fold.world.workloads:
            seen = (
                "no job here asks a queue for anything: one that does names it in the label kueue.x-k8s.io/queue-name"
            )
        held = bool(fold.world.workloads) and not open_ended
        findings.append(CardVerdict(what="every job has finished", held=held, seen=seen))
    return RunVerdict(timeline=timeline, cards=cards, fold=fold, findings=findings)


def card_time_of(entries: Mapping[str, Sequence[Entry]]) -> CardTime:
    """Who held which card on a log, and when."""
    found = CardTime()
    listen(entries, found.fold)
    return found


def judge_worker(name: str, entries: Mapping[str, Sequence[Entry]]) -> list[CardVerdict]:
    """Decide again everything on the log of a worker cluster, which has to be as empty in the end as it began."""
    streams = streams_in(entries)
    fold, first = fold_partition(streams.sole, entries, verify=True)
    devices, second = fold_partition(streams.pool, entries, verify=True)
    decided, differing = first.commits + second.commits, first.differences + second.differences
    left = [one.key for one in fold.world.workloads.values() if one.admission is not None and not one.finished]
    return [
        CardVerdict(
            what=f"every decision of {name}, decided again, gives the same bytes",
            held=not differing,
            seen=f"{decided - len(differing)} of {decided} commits",
        ),
        CardVerdict(
            what=f"nothing is left in {name}: no workload holds quota there, and no card is held",
            held=not left and not devices.world.cards.holdings,
            seen=", ".join(left),
        ),
    ]


def _judge(expectation: Expectation, timeline: Timeline) -> list[CardVerdict]:
    moments = timeline.of_job(expectation.job)
    job = expectation.job
    reserved = [m.event for m in moments if isinstance(m.event, QuotaReserved)]
    flavors = {flavor for event in reserved for one in event.assignments for flavor in one.flavors.values()}
    preempted = [m for m in moments if isinstance(m.event, PreemptionOrdered)]
    findings: list[CardVerdict] = []
    if expectation.waits:
        waited = any(isinstance(m.event, AdmissionRefused) for m in moments) and bool(reserved)
        findings.append(CardVerdict(what=f"{job} waits in the queue and gets in later", held=waited))
    if expectation.flavor:
        held = flavors == {expectation.flavor}
        findings.append(
            CardVerdict(what=f"{job} gets flavor {expectation.flavor}", held=held, seen=", ".join(sorted(flavors)))
        )
    if expectation.borrows:
        findings.append(CardVerdict(what=f"{job} borrows from the cohort", held=any(e.borrow_level for e in reserved)))
    if expectation.reclaims:
        held = any(
            m.event.reason == "InCohortReclamation" and timeline.jobs.get(m.event.preemptor) == job
            for found in timeline.moments.values()
            for m in found
            if isinstance(m.event, PreemptionOrdered)
        )
        findings.append(CardVerdict(what=f"{job} reclaims what its queue had lent", held=held))
    if expectation.preempted_by:
        by = {timeline.jobs.get(m.event.preemptor, "") for m in preempted if isinstance(m.event, PreemptionOrdered)}
        findings.append(
            CardVerdict(
                what=f"{job} is preempted by {expectation.preempted_by}",
                held=expectation.preempted_by in by,
                seen=", ".join(sorted(by)),
            )
        )
    if expectation.runs_again:
        findings.append(CardVerdict(what=f"{job} runs again after its preemption", held=_ran_again(moments)))
    if expectation.refused:
        last = [m.event.reason for m in moments if isinstance(m.event, AdmissionRefused | WorkloadParked)]
        held = bool(last) and last[-1] == expectation.refused and not reserved
        findings.append(
            CardVerdict(what=f"{job} is refused with {expectation.refused}", held=held, seen=last[-1] if last else "")
        )
    if expectation.clusters:
        chosen = tuple(m.event.cluster for m in moments if isinstance(m.event, ClusterChosen))
        what = f"{job} runs in {', then in '.join(expectation.clusters)}"
        findings.append(CardVerdict(what=what, held=chosen == expectation.clusters, seen=", ".join(chosen)))
    if expectation.finished:
        held = any(isinstance(m.event, WorkloadFinished) and m.event.reason == "Succeeded" for m in moments)
        findings.append(CardVerdict(what=f"{job} finishes", held=held))
    return findings


def _standing(workload: Workload) -> str:
    """How a workload stands that has not finished, and why, as far as the log says it."""
    state, condition = state_of(workload), workload.condition(QUOTA_RESERVED)
    why = condition.message if condition is not None and not workload.reserved else ""
    return f"{state.word} ({why})" if why else state.word


def _ran_again(moments: Sequence[WorkloadMoment]) -> bool:
    preempted = [i for i, m in enumerate(moments) if isinstance(m.event, PreemptionOrdered)]
    return bool(preempted) and any(isinstance(m.event, WorkloadAdmitted) for m in moments[preempted[0] :])
