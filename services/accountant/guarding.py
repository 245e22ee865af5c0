"""How the accountant goes through cards, pods, nodes and flavors: what it fails on it sets aside, and goes on with the others."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from events.catalogue import Decision
from events.setting_aside import SetAside
from projections.set_aside.records import Scope, is_aside
from projections.world import World
from services.runtime.guard import guarded

REVIEWER = "accountant"


def each(
    world: World, scope: Scope, names: Iterable[str], say: Callable[[str], Iterable[Decision]]
) -> Iterator[Decision]:
    """What there is to say about each of them, on the world that the one before has left."""
    for name in names:
        yield from one(world, scope, name, partial(say, name))


def one(world: World, scope: Scope, name: str, say: Callable[[], Iterable[Decision]]) -> list[Decision]:
    """What there is to say about one of them; nothing while it is set aside."""
    if is_aside(world.aside, REVIEWER, scope, name):
        return []
    found = guarded(lambda: list(say()), REVIEWER, **{scope.value: name})
    return [found] if isinstance(found, SetAside) else found
