"""The unit in which hours of a resource of quota are priced and shown."""

import msgspec

from events.quantity import units_per_one
from projections.devices.capacity.offer import COUNT, MEMORY, meaning_of

GIB = 1024
"""MiB of it."""
_BYTES_PER_GIB = 1024**3
_BYTES = frozenset({"memory", "ephemeral-storage", "storage"})


class ResourceUnit(msgspec.Struct, frozen=True):
    """How much of the quota's own unit is one, and its name as FOCUS writes units."""

    size: int
    name: str


def unit_of(resource: str) -> ResourceUnit:
    """Cores of cpu, GiB of what is counted in bytes or is memory of cards, pieces of anything else."""
    if units_per_one(resource) > 1:
        return ResourceUnit(units_per_one(resource), "Core-Hours")
    if resource in _BYTES or resource.startswith("hugepages-"):
        return ResourceUnit(_BYTES_PER_GIB, "GiB-Hours")
    meaning = meaning_of(resource)
    if meaning is None:
        return ResourceUnit(1, "Unit-Hours")
    if meaning.what == MEMORY:
        return ResourceUnit(GIB, "GiB-Hours")
    return ResourceUnit(1, "Slot-Hours") if meaning.what == COUNT else ResourceUnit(100, "GPU-Hours")
