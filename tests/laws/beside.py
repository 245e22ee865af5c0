"""What only some random lives have beside what all have: its own chance draws it, so that the others stay what they are."""

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from events.catalogue import Fact
from projections.workloads.lifecycle import Workload

if TYPE_CHECKING:
    from tests.laws.random_life import Life

Happenings = Sequence[tuple[Callable[[], None], int]]


class Beside:
    """One such thing: it adds facts, happenings, and says more in facts of others."""

    name = ""
    often = 0.4
    """Of so many lives it is part."""
    services: tuple[str, ...] = ()
    """Who decides besides."""

    def __init__(self, life: "Life", seed: int) -> None:
        self.life = life
        self.chance = random.Random(f"{seed}/{self.name}")
        self.there = self.chance.random() < self.often

    def platform(self) -> list[Fact]:
        """What stands there from the beginning, ahead of all else."""
        return []

    def shown(self, fact: Fact) -> Fact:
        """A fact as it is told where this is part of the life."""
        return fact

    def happenings(self) -> Happenings:
        """What happens besides, each with its weight."""
        return ()

    def pods_may_be_gone(self, one: Workload) -> bool:
        """Whether a job that has to stop may have by now, as far as this is concerned."""
        del one
        return True
