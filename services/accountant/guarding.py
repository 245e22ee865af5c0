"""How the accountant goes through cards, pods, nodes and flavors: one that it fails on is set aside, the others go on."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from events.catalogue import Decision
from events.setting_aside import SetAside
from projections.set_aside.records import Scope, is_aside
from projections.set_aside.state import SetAsideState
from services.runtime.partition.guard import guarded

ACCOUNTANT = "accountant"
"""The name under which work waits for the accountant, and under which it sets objects aside."""


def each(
    world: SetAsideState, scope: Scope, names: Iterable[str], decide: Callable[[str], Iterable[Decision]]
) -> Iterator[Decision]:
    """The decisions about each name, one after the other: each is decided on the world that the one before has left."""
    for name in names:
        yield from one(world, scope, name, partial(decide, name))


def one(world: SetAsideState, scope: Scope, name: str, decide: Callable[[], Iterable[Decision]]) -> list[Decision]:
    """The decisions about one name, or that it is set aside because of an error; nothing while it is set aside."""
    if is_aside(world.aside, ACCOUNTANT, scope, name):
        return []
    decided = guarded(lambda: list(decide()), ACCOUNTANT, **{scope.value: name})
    return [decided] if isinstance(decided, SetAside) else decided
