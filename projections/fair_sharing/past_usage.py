"""How much a local queue has used lately, as one number (docs/rules/fair-sharing.md#usage-score)."""

from collections.abc import Iterable
from fractions import Fraction
from functools import cache

from events.event import Millis
from events.quantity import parse_quantity, units_per_one
from projections.fair_sharing.decay import ONE
from projections.fair_sharing.ledger import settled
from projections.fair_sharing.state import LedgerState

PastUsage = tuple[bool, Fraction]
"""Whether it is infinite, and else the number: resources by weight, by the weight of the queue."""

TOO_MUCH: PastUsage = (True, Fraction())


def past_usage(world: LedgerState, local_queue: str, at: Millis) -> PastUsage:
    """Usage and penalties of a local queue at a time; infinite when its weight is 0."""
    rule, ledger = world.settings.admission_fair_sharing, world.ledgers.get(local_queue)
    queue = world.local_queues.get(local_queue)
    weight = Fraction(queue.weight.numerator, queue.weight.denominator) if queue is not None else Fraction(1)
    if weight <= 0:
        return TOO_MUCH
    if rule is None or ledger is None:
        return (False, Fraction())
    ledger = settled(ledger, rule, at)
    total = Fraction()
    for resource in sorted({*ledger.consumed, *ledger.penalties}):
        amount = ledger.consumed.get(resource, 0) + ledger.penalties.get(resource, 0)
        each = rule.resource_weights.get(resource)
        total += Fraction(amount, ONE * units_per_one(resource)) * (_exact(each) if each is not None else 1)
    return (False, total / weight)


def usage_ranks(world: LedgerState, local_queues: Iterable[str], at: Millis) -> dict[str, int]:
    """By local queue, how many different usages are less than its own: what sorts by it compares each usage once."""
    used = {local_queue: past_usage(world, local_queue, at) for local_queue in sorted(set(local_queues))}
    rank = {usage: number for number, usage in enumerate(sorted(set(used.values())))}
    return {local_queue: rank[usage] for local_queue, usage in used.items()}


@cache
def _exact(text: str) -> Fraction:
    return parse_quantity(text)
