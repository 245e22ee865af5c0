"""The cards of a workload as they are taken away and given back on trial (docs/rules/preemption.md#card-victims)."""

from collections.abc import Mapping

from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.holdings.card_stakes import Stake


class HeldCards:
    """What a workload has of cards, reserved for it or held by its pods."""

    __slots__ = ("_cards", "_stakes", "_workload")

    def __init__(self, cards: CardHoldings, workload: str) -> None:
        self._cards, self._workload = cards, workload
        self._stakes: Mapping[str, Stake] = cards.stakes_of(workload)

    def vacate(self) -> None:
        """Its cards are free, until the trial ends."""
        for uuid in self._stakes:
            self._cards.stake(uuid, self._workload, Stake())

    def occupy(self) -> None:
        """It has its cards (again), until the trial ends."""
        for uuid, stake in self._stakes.items():
            self._cards.stake(uuid, self._workload, stake)
