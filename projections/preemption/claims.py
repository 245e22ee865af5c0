"""Room that is kept for a preemptor while its victims leave, so that nobody else takes what they give back.

kuelog's own (docs/rules/preemption.md#preemption-claims; Kueue keeps no room across cycles): a queue turns it on with
its preemption rules.
"""

from events.admission import Victim
from events.preemption import RoomClaimed
from projections.preemption.requested import ANY_ADMISSION, still_holds
from projections.preemption.state import PreemptionState
from projections.quota.columns import Usage
from projections.quota.node import Node
from projections.quota.state import QuotaState
from projections.quota.tree import QuotaTree
from projections.trail import Trail

Claimed = dict[str, tuple[Node, Usage]]
"""By preemptor, the room that counts as used for everybody else, and where."""


def claimed_room(world: PreemptionState) -> Claimed:
    """What all claims keep: as much of each as its victims have given back already."""
    found: Claimed = {}
    for preemptor in sorted(world.claims):
        claim = world.claims[preemptor]
        node = world.quota.node(claim.cluster_queue)
        if node is not None:
            found[preemptor] = (node, _kept(world, claim))
    return found


def end_claim(claims: dict[str, RoomClaimed], quota: QuotaTree, trail: Trail, preemptor: str) -> None:
    """Nothing is kept for the preemptor any more: what was refused in its tree may fit now."""
    claim = claims.get(preemptor)
    if claim is not None:
        trail.drop(claims, preemptor)
        quota.remove_usage(claim.cluster_queue, {})


def _kept(world: QuotaState, claim: RoomClaimed) -> Usage:
    kept: Usage = {}
    for room in claim.rooms:
        column = world.quota.column(room.flavor, room.resource)
        kept[column] = kept.get(column, 0) + room.amount
    for victim in _victims(claim):
        workload = still_holds(world.workloads, victim)
        if workload is None or workload.admission is None or not workload.evicted:
            continue
        for column, amount in world.holders(workload.admission.cluster_queue).usage.get(workload.key, {}).items():
            if column in kept:
                kept[column] = max(kept[column] - amount, 0)
    return {column: amount for column, amount in kept.items() if amount}


def _victims(claim: RoomClaimed) -> list[Victim]:
    """Those that leave the room, each as it was admitted when it was found."""
    admissions = claim.admissions or (ANY_ADMISSION,) * len(claim.victims)
    return [
        Victim(workload=key, reason="", admission=admission)
        for key, admission in zip(claim.victims, admissions, strict=False)
    ]
