"""Objects that could not be understood, as long as that is so (docs/rules/objects.md#refused)."""

from events.control import ObjectRefused
from projections.queues.state import QueueState


def refuse(world: QueueState, event: ObjectRefused) -> None:
    """Keep why an object was refused."""
    place = f"{event.kind}/{event.namespace}/{event.name}"
    world.trail.put(world.refused, place, event)
    world.refused_work.mark_dirty(place)


def accept(world: QueueState, kind: str, namespace: str, name: str) -> None:
    """Forget the refusal of an object: it is understood now, or gone."""
    world.trail.drop(world.refused, f"{kind}/{namespace}/{name}")
