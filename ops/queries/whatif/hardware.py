"""Nodes and cards that are more or fewer than were recorded: copies of a node that is there, and cards that are taken away."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from events.catalogue import Fact
from events.control import ObjectRemoved
from events.device import DevicesRegistered, NodeObserved
from ops.queries.settings_change import BadChange
from ops.queries.whatif.course import Happening
from projections.world import World

_MOST = 1000
_HOSTNAME = "kubernetes.io/hostname"


class Hardware:
    """Nodes that there are more of, by `node/NAME=COUNT`, and cards that are not there, by `card/UUID`. Raises `BadChange`."""

    def __init__(self, more: Sequence[str] = (), without: Sequence[str] = ()) -> None:
        self._more = dict(_copies(text) for text in more)
        self._without = frozenset(name.partition("/")[2] for name in without)
        self._used: set[str] = set()

    @property
    def unused(self) -> list[str]:
        """What was asked for and is nowhere on the log."""
        asked = (*(f"node/{name}" for name in self._more), *(f"card/{uuid}" for uuid in sorted(self._without)))
        return [name for name in asked if name not in self._used]

    def at_fork(self, world: World) -> Iterator[Fact]:
        """The facts that make the nodes of a world those that are wanted."""
        for registered in world.cards.nodes.values():
            fewer = self._fewer(registered)
            if fewer is not registered:
                yield fewer
        for name in self._more:
            for fact in (world.nodes.get(name), world.cards.nodes.get(name)):
                if fact is not None:
                    yield from self._copied(self._fewer(fact))

    def of(self, happening: Happening) -> Iterator[Happening]:
        """What is to come in place of something: without the cards, and once more for each copy of a node."""
        fact = self._fewer(happening.fact)
        yield happening if fact is happening.fact else Happening(happening.at, fact, happening.sequence)
        for copy in self._copied(fact):
            yield Happening(happening.at, copy, happening.sequence)

    def _fewer(self, fact: Fact) -> Fact:
        if not isinstance(fact, DevicesRegistered):
            return fact
        gone = [card.uuid for card in fact.cards if card.uuid in self._without]
        self._used.update(f"card/{uuid}" for uuid in gone)
        return replace(fact, cards=tuple(card for card in fact.cards if card.uuid not in gone)) if gone else fact

    def _copied(self, fact: Fact) -> Iterator[Fact]:
        match fact:
            case NodeObserved():
                name = fact.name
            case DevicesRegistered():
                name = fact.node
            case ObjectRemoved(kind="Node"):
                name = fact.name
            case _:
                return
        if name in self._more:
            self._used.add(f"node/{name}")
        for number in range(1, self._more.get(name, 0) + 1):
            yield _copy(fact, f"-more-{number}")


def _copies(text: str) -> tuple[str, int]:
    named, _, count = text.rpartition("=")
    kind, _, name = named.partition("/")
    if kind != "node" or not name or not (count.isascii() and count.isdigit()) or not 1 <= int(count) <= _MOST:
        raise BadChange(
            f"{text!r} is no number of nodes: write node/NAME=2 for two more that are as that one, {_MOST} at most"
        )
    return name, int(count)


def _copy(fact: NodeObserved | DevicesRegistered | ObjectRemoved, mark: str) -> Fact:
    """The same fact of another node."""
    match fact:
        case NodeObserved():
            own = {_HOSTNAME: fact.name + mark} if _HOSTNAME in fact.labels else {}
            return replace(fact, name=fact.name + mark, uid=fact.uid + mark, labels={**fact.labels, **own})
        case DevicesRegistered():
            scores = {
                one + mark: {other + mark: score for other, score in row.items()}
                for one, row in fact.pair_scores.items()
            }
            return replace(
                fact,
                node=fact.node + mark,
                cards=tuple(replace(card, uuid=card.uuid + mark) for card in fact.cards),
                cordoned=tuple(uuid + mark for uuid in fact.cordoned),
                pair_scores=scores,
            )
        case ObjectRemoved():
            return replace(fact, name=fact.name + mark)
