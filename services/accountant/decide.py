"""What the accountant decides: who gets which cards and until when, which are in service, and what is amiss."""

from itertools import chain

from events.catalogue import Decision
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.world import World
from services.accountant.allocation import allocations
from services.accountant.differences import differences, overdue
from services.accountant.pod_assignment import assignments
from services.accountant.release import releases
from services.accountant.service import losses, returns
from services.accountant.shortages import shortages

MOST_EVENTS = 200


class Accountant:
    """Decides who holds which card."""

    name = "accountant"

    def decide(self, world: World, position: LogPosition) -> list[Decision]:
        """Everything there is to say, in a fixed order; each decision is made on the world that the last has left."""
        world.begin()
        events: list[Decision] = []
        steps = chain(
            releases(world),
            returns(world, position.at),
            losses(world, position.at),
            assignments(world),
            allocations(world),
            differences(world, position.at),
            overdue(world, position.at),
            shortages(world),
        )
        for event in steps:
            evolve(world, event, position)
            events.append(event)
            if len(events) >= MOST_EVENTS:
                break
        return events
