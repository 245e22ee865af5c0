"""Thieves of random lives: pods that no queue manages take the cards that were meant for somebody, just before he gets them.

Rule: docs/rules/devices.md
"""

from events.card import CardShare
from events.control import ObjectRemoved
from events.device import PodObserved
from tests.laws.beside import Beside, Happenings
from tests.laws.random_platform import Platform


class Thieves(Beside):
    """Where there are cards."""

    name = "thieves"
    often = 0.5

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        platform: Platform = self.life.platform
        self.there = self.there and platform.cards
        self.taken = 0

    def happenings(self) -> Happenings:
        return ((self.steal, 4), (self.give_back, 4))

    def steal(self) -> None:
        """All cards, as soon as somebody waits for some that were proposed to him."""
        world = self.life.world
        if not any(one.reserved and not one.admitted and one.devices is None for one in world.workloads.values()):
            return
        for name, node in sorted(world.cards.nodes.items()):
            for card in node.cards:
                self.taken += 1
                share = CardShare(uuid=card.uuid, vendor="NVIDIA", memory=card.memory, cores=100)
                pod = f"s{self.taken}"
                self.life.tell(
                    PodObserved(namespace="team", name=pod, uid=pod, node=name, phase="Running", shares=((share,),))
                )

    def give_back(self) -> None:
        found = [one for _, one in sorted(self.life.world.pods.items()) if one.name.startswith("s")]
        for one in found if self.chance.random() < 0.7 else found[:1]:
            self.life.tell(ObjectRemoved(kind="Pod", namespace=one.namespace, name=one.name))
