"""What the preemptor decides: whether the victims of a preemption request are evicted, and when a claim on room ends.

Rule: docs/rules/preemption.md#ordered, docs/rules/preemption.md#preemption-claims
"""

from collections.abc import Mapping
from functools import partial

from events.admission import PreemptionRequested
from events.catalogue import Decision
from events.event import Millis
from events.preemption import PreemptionOrdered, PreemptionRefused, PreemptionWasted, Room, RoomClaimed
from events.setting_aside import SetAside
from projections.configuration import Configuration
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.preemption.loops import IN_VAIN, preempted_in_vain
from projections.preemption.message import path_text, preemption_message
from projections.preemption.policy import protected
from projections.preemption.requested import still_holds
from projections.preemption.state import PreemptionState
from projections.quota.charge_quota import charged_amounts, usage_of
from projections.quota.state import QuotaState
from projections.set_aside.records import Scope, is_aside
from projections.workloads.lifecycle import Workload
from projections.workloads.slices import replaced_slice
from projections.world import World
from services.runtime.partition.guard import guarded

CLAIM_FOR: Millis = 600_000
"""How long room is kept for a preemptor whose victims do not leave, in milliseconds."""


class Preemptor:
    """Answers the admitter's preemption requests: orders the evictions, or refuses them when a victim is protected."""

    name = "preemptor"

    def decide(self, world: World, position: LogPosition) -> list[Decision]:
        """Answer the open requests and end expired claims; each decision is folded before the next one is made."""
        world.begin()
        events: list[Decision] = []
        for preemptor in world.request_work.take(self.name):
            request = world.requests.get(preemptor)
            if request is None or preemptor in world.answered:
                continue
            if is_aside(world.aside, self.name, Scope.WORKLOAD, preemptor):
                continue
            answer = guarded(partial(self._answer, world, request, position.at), self.name, workload=preemptor)
            for event in (answer,) if isinstance(answer, SetAside) else answer:
                evolve(world, event, position)
                events.append(event)
        for preemptor in sorted(world.claims):
            if position.at >= world.claims[preemptor].until:
                wasted = PreemptionWasted(preemptor=preemptor, victims=(), reason="ClaimExpired")
                evolve(world, wasted, position)
                events.append(wasted)
        return events

    def _answer(self, world: PreemptionState, request: PreemptionRequested, at: Millis) -> list[Decision]:
        preemptor = world.workloads.get(request.workload)
        if preemptor is None or preemptor.reserved or preemptor.finished:
            return [PreemptionRefused(preemptor=request.workload, reason="PreemptorGone")]
        ordered: list[Decision] = []
        claims = self._claims(world, request)
        for victim in request.victims:
            workload = still_holds(world.workloads, victim)
            if workload is None or workload.admission is None or workload.evicted:
                continue  # It has made room, or is about to: nothing to order a second time.
            shield = protected(workload, world.cluster_queues.get(workload.admission.cluster_queue), at)
            if shield:
                return [
                    PreemptionRefused(
                        preemptor=request.workload,
                        reason=shield,
                        message=f"{victim.workload} may not be preempted now: {shield}",
                    )
                ]
            claims = claims or preempted_in_vain(preemptor, workload) >= IN_VAIN
            ordered.append(self._order(world, request, preemptor, workload, victim.reason))
        if ordered and claims and request.workload not in world.claims:
            ordered.append(_claim(request, at, _held_already(world, preemptor)))
        return ordered

    def _order(
        self, world: QuotaState, request: PreemptionRequested, preemptor: Workload, victim: Workload, reason: str
    ) -> PreemptionOrdered:
        message = preemption_message(
            preemptor,
            reason,
            path_text(world.quota.node(request.cluster_queue)),
            path_text(world.quota.node(victim.admission.cluster_queue) if victim.admission is not None else None),
        )
        return PreemptionOrdered(workload=victim.key, preemptor=preemptor.key, reason=reason, message=message)

    def _claims(self, world: Configuration, request: PreemptionRequested) -> bool:
        queue = world.cluster_queues.get(request.cluster_queue)
        return queue is not None and queue.preemption.claims


def _held_already(world: QuotaState, preemptor: Workload) -> dict[tuple[str, str], int]:
    """What the slice holds, by flavor and resource, whose place the preemptor takes: it needs no room of its own."""
    old = replaced_slice(world, preemptor)
    return {} if old is None else world.quota.columns.by_name(usage_of(old, world.quota.columns))


def _claim(request: PreemptionRequested, at: Millis, held: Mapping[tuple[str, str], int]) -> RoomClaimed:
    return RoomClaimed(
        preemptor=request.workload,
        cluster_queue=request.cluster_queue,
        rooms=tuple(
            Room(flavor=flavor, resource=resource, amount=max(amount - held.get((flavor, resource), 0), 0))
            for (flavor, resource), amount in sorted(charged_amounts(request.assignments).items())
        ),
        until=at + CLAIM_FOR,
        victims=tuple(victim.workload for victim in request.victims),
        admissions=tuple(victim.admission for victim in request.victims),
    )
