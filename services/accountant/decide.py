"""What the accountant decides: which cards a workload gets and when they are released, which are in service, and drift."""

from collections.abc import Iterator, Sized
from itertools import chain

from events.catalogue import Decision
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.world import World
from services.accountant.allocation import allocations
from services.accountant.differences import differences, overdue
from services.accountant.guarding import ACCOUNTANT
from services.accountant.pod_assignment import assignments
from services.accountant.release import releases
from services.accountant.service import losses, returns
from services.accountant.shortages import shortages

MOST_EVENTS = 200


class Accountant:
    """Decides which workload and which pod holds which card."""

    name = "accountant"

    def decide(self, world: World, position: LogPosition) -> list[Decision]:
        """All due decisions in a fixed order, at most `MOST_EVENTS`; each is folded before the next one is made."""
        world.begin()
        events: list[Decision] = []
        steps = chain(
            releases(world),
            returns(world, position.at),
            losses(world, position.at),
            _reviews(world, events, position.sequence),
            differences(world, position.at),
            overdue(world, position.at),
            shortages(world),
            _budget_news(world),
        )
        for event in steps:
            evolve(world, event, position)
            events.append(event)
            if len(events) >= MOST_EVENTS:
                break
        return events


def _budget_news(world: World) -> Iterator[Decision]:
    """What a partition has told of a budget that it shares, for the others: of all partitions, only this one reads the rest.

    Rule: docs/rules/budgets.md#partitions
    """
    for place in sorted(world.budget_news):
        yield world.budget_news[place]


def _reviews(world: World, events: Sized, sequence: int) -> Iterator[Decision]:
    """Cards for each workload under review, and for its pods; one that is given cards comes up again behind that, for its pods may be waiting."""
    for key in world.work.take_in_turns(ACCOUNTANT, events, sequence):
        workload = world.workloads.get(key)
        if workload is not None:
            yield from assignments(world, workload)
            yield from allocations(world, workload)
