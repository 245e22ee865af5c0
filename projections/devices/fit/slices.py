"""The profiles into which a card of Enflame is cut, such as `3g.20gb` (docs/rules/devices.md#templates)."""

import re
from collections.abc import Mapping

import msgspec

from events.card import WHOLE_CARD, Card, CardRequest, CardShare
from projections.devices.card_use import CardState
from projections.devices.fit import card_checks

PROFILES, MOST = "profiles", "maxSlice"
"""Custom fields of a card: its profiles, as JSON from name to number, and the slices of the largest of them."""
BY_AMOUNT = -1
"""The percentage of a request that names memory and cores instead of slices."""
_NAME = re.compile(r"(\d+)g\.(\d+)gb")
_LARGEST = 1 << 15
_MIB = 1024


class SliceProfile(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One of the profiles into which a card of Enflame can be cut, such as `3g.20gb`."""

    slices: int
    gibibytes: int
    name: str
    number: str

    @property
    def memory(self) -> int:
        """The memory of such a slice, in MiB."""
        return self.gibibytes * _MIB

    def cores(self, most: int) -> int:
        """The cores of such a slice, in percent of the card's, of which the largest profile has `most` slices.

        Rounded down, so that all slices of a card can be given.
        """
        return self.slices * WHOLE_CARD // max(most, 1)


def profiles_in(numbers: Mapping[str, str]) -> list[SliceProfile]:
    """The profiles by their names, smallest first; names that nobody can mean are left out."""
    found: list[SliceProfile] = []
    for name, number in numbers.items():
        match = _NAME.fullmatch(name.strip().lower())
        if match and int(match[1]) <= _LARGEST and int(match[2]) <= _LARGEST:
            found.append(SliceProfile(slices=int(match[1]), gibibytes=int(match[2]), name=name, number=number))
    return sorted(found)


def profiles_of(card: Card) -> list[SliceProfile]:
    """The profiles that a card says it can be cut into; none where it says nothing."""
    return profiles_in(msgspec.json.decode(str(card.custom.get(PROFILES, "{}")), type=dict[str, str]))


def most_slices(card: Card) -> int:
    """The slices of the card's largest profile."""
    return int(card.custom.get(MOST, 0)) or max((one.slices for one in profiles_of(card)), default=0)


def chosen(request: CardRequest, card: Card) -> SliceProfile | None:
    """The profile for a request: of exactly so many slices, or the smallest that covers memory and cores."""
    known = profiles_of(card)
    if request.percent != BY_AMOUNT:
        return next((one for one in known if one.slices == request.memory), None)
    gibibytes, most = gibibytes_asked(request, known), most_slices(card)
    return next((one for one in known if one.gibibytes >= gibibytes and one.cores(most) >= request.cores), None)


def gibibytes_asked(request: CardRequest, known: list[SliceProfile]) -> int:
    """Memory is in GiB, or in MiB where it is more than twice what any profile has."""
    largest = max((one.gibibytes for one in known), default=0)
    return -(-request.memory // _MIB) if request.memory > 2 * largest else request.memory


class NoShare(msgspec.Struct, frozen=True):
    """A card has no slice for a request."""

    why: str
    """HAMi's code for it."""


def slice_share(state: CardState, request: CardRequest) -> CardShare | NoShare:
    """The slice of a card for a request, or why there is none."""
    card = state.card
    profile = chosen(request, card)
    if profile is None:
        return NoShare(card_checks.WRONG_MODE)
    cores = profile.cores(most_slices(card))
    if card.memory - state.use.memory < profile.memory:
        return NoShare(card_checks.NO_MEMORY)
    if card.cores and card.cores - state.use.cores < cores:
        return NoShare(card_checks.NO_CORES)
    if card.slots - state.use.slots < profile.slices:
        return NoShare(card_checks.NO_SLOT)
    custom: dict[str, int | str] = {
        "drsSlice": profile.slices,
        "index": card.custom.get("index", ""),
        "minor": card.custom.get("minor", ""),
        "profileID": profile.number,
        "profileName": profile.name,
    }
    return CardShare(
        uuid=card.uuid,
        vendor=request.vendor,
        memory=profile.memory,
        cores=cores,
        index=card.index,
        slots=profile.slices,
        custom=custom,
    )
