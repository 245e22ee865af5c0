"""Plenty in random lives: quota, cards and room for most that come, so that they run, end, are kept and get another size.

Where all starve, little else happens than that somebody waits.
"""

from msgspec.structs import replace

from events.card import Card
from events.catalogue import Fact
from events.device import DevicesRegistered, NodeObserved
from events.quota import (
    ClusterQueueObserved,
    CohortObserved,
    FlavorQuotas,
    LocalQueueObserved,
    Quota,
    ResourceGroup,
    StopPolicy,
)
from events.workload import CheckReported, CheckState, CheckStatus
from tests.laws.beside import Beside, Happenings

_CARDS = 6


class Plenty(Beside):
    """There is several times as much of everything."""

    name = "plenty"
    often = 0.5

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.times = self.chance.choice((2, 4, 10))

    def shown(self, fact: Fact) -> Fact:
        match fact:
            case ClusterQueueObserved():
                return self._open(replace(fact, groups=self._more(fact.groups)))
            case CohortObserved():
                return replace(fact, groups=self._more(fact.groups))
            case LocalQueueObserved() if self.chance.random() < 0.8:
                return replace(fact, stop=StopPolicy.NONE)
            case NodeObserved():
                room = {name: amount * self.times for name, amount in fact.allocatable.items()}
                return replace(fact, allocatable=room, ready=fact.ready or self.chance.random() < 0.5)
            case DevicesRegistered() if fact.cards:
                return replace(fact, cards=(*fact.cards, *_others(fact.cards)))
            case _:
                return fact

    def happenings(self) -> Happenings:
        return ((self.go_on, 6), (self.life.finish, 2), (self.life.ready, 2), (self.life.apply, 3))

    def go_on(self) -> None:
        """All checks of one that waits for them are ready."""
        one = self.life.one(lambda one: one.reserved and not one.admitted and bool(one.checks))
        if one is None:
            return
        for name in sorted(one.checks):
            check = CheckStatus(name=name, state=CheckState.READY, since=self.life.hosts.at)
            decision = self.life.hosts.decision(one.key, one.decided)
            self.life.tell(CheckReported(workload=one.key, check=check, decision=decision))

    def _open(self, queue: ClusterQueueObserved) -> ClusterQueueObserved:
        if self.chance.random() < 0.2:
            return queue
        some = queue.checks if self.chance.random() < 0.3 else ()
        return replace(queue, stop=StopPolicy.NONE, max_concurrent=None, checks=some)

    def _more(self, groups: tuple[ResourceGroup, ...]) -> tuple[ResourceGroup, ...]:
        return tuple(
            replace(
                group,
                flavors=tuple(
                    FlavorQuotas(flavor=one.flavor, quotas=tuple(map(self._enlarged, one.quotas)))
                    for one in group.flavors
                ),
            )
            for group in groups
        )

    def _enlarged(self, quota: Quota) -> Quota:
        limited = self.chance.random() < 0.3
        return replace(
            quota,
            nominal=quota.nominal * self.times,
            borrowing_limit=quota.borrowing_limit if limited else None,
            lending_limit=quota.lending_limit if limited else None,
        )


def _others(cards: tuple[Card, ...]) -> tuple[Card, ...]:
    """The same cards with the numbers that follow."""
    first = cards[0]
    node = first.uuid.rpartition("-")[0]
    return tuple(
        replace(first, uuid=f"{node}-{index}", index=index, healthy=True) for index in range(len(cards), _CARDS)
    )
