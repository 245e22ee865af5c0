"""Which piece a MIG card gives to a request, and where pieces find place (docs/rules/devices.md#mig)."""

from collections.abc import Sequence

from events.card import MigInstance, MigProfile, Span
from projections.devices.card_use import CardUse

_FROM_THE_END = ("1g.", "3g.")
"""Profiles that are placed from the highest start, so that they leave room for the others."""


def overlaps(one: Span, other: Span) -> bool:
    """Whether two half-open stretches share a slice."""
    return one.start < other.start + other.size and other.start < one.start + one.size


def spans_of(instances: Sequence[MigInstance]) -> list[Span]:
    """The memory slices of a card that MIG pieces cover, as spans."""
    return [Span(start=piece.start, size=piece.size) for piece in instances]


def unknown_pieces(use: CardUse) -> bool:
    """Whether a share of a MIG card does not say which piece it is: what is free of the card is not known then."""
    return use.slots > len(use.instances)


def placement(profile: MigProfile, occupied: Sequence[Span]) -> Span | None:
    """Where a piece of that profile goes beside what is occupied; None if nowhere."""
    return next((span for span in _in_order(profile) if not any(overlaps(span, taken) for taken in occupied)), None)


def named(profiles: Sequence[MigProfile], name: str) -> MigProfile | None:
    """The MIG profile of a name such as `1g.10gb`; None if the card has no such profile."""
    return next((profile for profile in profiles if profile.name == name), None)


def candidate(
    profiles: Sequence[MigProfile], memory: int, occupied: Sequence[Span]
) -> tuple[MigProfile, MigInstance] | None:
    """The smallest profile that holds so many MiB and has a free place."""
    for profile in sorted(profiles, key=lambda profile: (profile.memory, profile.slices)):
        if profile.memory < memory:
            continue
        span = placement(profile, occupied)
        if span is not None:
            return profile, MigInstance(profile=profile.name, start=span.start, size=span.size)
    return None


def can_place(profiles: Sequence[MigProfile], requested: Sequence[str], occupied: Sequence[Span]) -> bool:
    """Whether pieces of all the named profiles find places together, in any arrangement."""
    if not requested:
        return True
    profile = named(profiles, requested[0])
    if profile is None:
        return False
    return any(
        can_place(profiles, requested[1:], [*occupied, span])
        for span in _in_order(profile)
        if not any(overlaps(span, taken) for taken in occupied)
    )


def _in_order(profile: MigProfile) -> list[Span]:
    return sorted(profile.placements, key=lambda span: span.start, reverse=profile.name.startswith(_FROM_THE_END))
