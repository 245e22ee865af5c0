"""What was found for one request: the shares, or how often the cards that were looked at refused for which reason."""

import msgspec

from events.card import CardShare


class ContainerFit(msgspec.Struct, frozen=True, kw_only=True):
    """The shares found for one request; where they are too few, the reasons counted over the cards looked at."""

    picked: tuple[CardShare, ...]
    complete: bool
    refusals: dict[str, int] = {}
    cards: int = 0
