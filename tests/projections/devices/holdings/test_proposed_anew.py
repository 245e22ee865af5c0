"""Cards that are proposed anew under a reservation for which cards were given: what was given stays given until it is released."""

from projections.devices.placement.gang import place
from tests.projections.devices.makers import Fleet, card, container, gang

ONE = gang(1, container(gpu=1, mem=16_000, cores=10))


def fleet() -> Fleet:
    return Fleet(n1=[card("a0", memory=16_384)], n2=[card("b0", memory=16_384)])


def used(found: Fleet) -> list[str]:
    return sorted(uuid for on in found.cards.all_cards() for uuid, use in on.used.items() if use.memory)


def test_what_was_given_is_given_again_when_what_was_proposed_instead_is_withdrawn() -> None:
    found = fleet()
    first = place(found.cards, found.nodes, [ONE], found.trail).placements
    found.cards.confirm("w", 1, first)
    given = used(found)
    found.cards.propose("w", 1, ())
    second = place(found.cards, found.nodes, [ONE], found.trail).placements
    found.cards.propose("w", 1, second)
    found.cards.withdraw("w", 1)
    (holding,) = found.cards.attempts_of("w")
    assert (holding.placements, holding.confirmed, holding.given) == (first, True, ())
    assert used(found) == given
    found.cards.release("w", 1)
    assert used(found) == []


def test_what_was_only_proposed_is_free_when_it_is_withdrawn() -> None:
    found = fleet()
    found.cards.propose("w", 1, place(found.cards, found.nodes, [ONE], found.trail).placements)
    found.cards.withdraw("w", 1)
    assert used(found) == [] and not found.cards.holders()


def test_what_is_confirmed_replaces_what_was_given_before() -> None:
    found = fleet()
    first = place(found.cards, found.nodes, [ONE], found.trail).placements
    found.cards.confirm("w", 1, first)
    found.cards.propose("w", 1, first)
    found.cards.confirm("w", 1, first)
    found.cards.withdraw("w", 1)
    (holding,) = found.cards.attempts_of("w")
    assert (holding.confirmed, holding.given) == (True, ())
