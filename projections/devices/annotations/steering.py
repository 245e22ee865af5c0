"""How a pod's annotations steer the choice of cards: which models, which UUIDs, which policy.

Rule: docs/rules/devices.md#steering

Annotations are read once per pod; the checks of every card then look at the result only.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import TypeVar

import msgspec

from projections.devices.annotations.allocated_cards import names_in

BINPACK, SPREAD, NUMA, MUTEX, TOPOLOGY = "binpack", "spread", "numa", "mutex", "topology-aware"
CARD_POLICIES = (BINPACK, SPREAD, NUMA, MUTEX, TOPOLOGY)
NODE_POLICIES = (BINPACK, SPREAD)

_NUMBER = re.compile(r"([+-]?)0*([0-9]{1,19})")
_INT64 = 2**63 - 1

Score = TypeVar("Score", int, Fraction)

SCORING_WEIGHTS = "hami.io/device-scoring-weights"
"""On a pod: how much slots, cores and memory count when cards are compared, such as `slot=1,core=2,memory=1`."""


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """How much slots, cores and memory count in a card's score."""

    slot: int = 1
    core: int = 1
    memory: int = 1


EVEN = Weights()


class BadWeights(ValueError):
    """Scoring weights that cannot be read; write all three, such as `slot=1,core=2,memory=1`."""

    def __init__(self, text: str, part: str, problem: str) -> None:
        super().__init__(f"scoring weights {text!r}: {part!r} {problem}; write slot=<n>,core=<n>,memory=<n>")
        self.text, self.part, self.problem = text, part, problem


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A list to choose from and a list to keep off; an empty list is no constraint, and both apply."""

    use: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()

    def and_those_of(self, other: "Choice") -> "Choice":
        """This choice and another one combined: the lists of both."""
        return Choice(use=self.use + other.use, avoid=self.avoid + other.avoid) if other.use or other.avoid else self

    def allows_uuid(self, uuid: str) -> bool:
        """Whether a card with exactly that UUID may be used."""
        return (not self.use or uuid in self.use) and uuid not in self.avoid

    def allows_model(self, model: str) -> bool:
        """Whether a card whose model holds one of the words, in any case, may be used."""
        words = model.upper()
        if self.use and not any(word in words for word in self.use):
            return False
        return not any(word in words for word in self.avoid)


def least_first(node_policy: str, score: Score) -> Score:
    """A node's score so that the node to take has the least: spread takes the emptiest, any other policy the fullest."""
    return score if node_policy == SPREAD else -score


def uuid_choice(annotations: Mapping[str, str], use_key: str, avoid_key: str) -> Choice:
    """The cards that a pod wants or keeps off, by UUID."""
    return Choice(use=names_in(annotations.get(use_key, "")), avoid=names_in(annotations.get(avoid_key, "")))


def model_choice(annotations: Mapping[str, str], use_key: str, avoid_key: str) -> Choice:
    """The models that a pod wants or keeps off."""
    return Choice(
        use=tuple(name.upper() for name in names_in(annotations.get(use_key, ""))),
        avoid=tuple(name.upper() for name in names_in(annotations.get(avoid_key, ""))),
    )


def parse_weights(text: str) -> Weights:
    """The weights of a pod: each of slot, core and memory once, none negative, not all zero. Raises `BadWeights`."""
    found: dict[str, int] = {}
    for part in text.split(","):
        name, separator, number = (piece.strip() for piece in part.partition("="))
        if not separator or name not in ("slot", "core", "memory"):
            raise BadWeights(text, part, "is not one of slot, core, memory")
        if name in found:
            raise BadWeights(text, part, "is given twice")
        digits = _NUMBER.fullmatch(number)
        weight = -1 if digits is None else int(digits[1] + digits[2])
        if not 0 <= weight <= _INT64:
            raise BadWeights(text, part, f"is not a whole number, from 0 to {_INT64}")
        found[name] = weight
    if len(found) != len(("slot", "core", "memory")):
        raise BadWeights(text, text, "lacks one of the three")
    if not any(found.values()):
        raise BadWeights(text, text, "is zero throughout")
    return Weights(**found)
