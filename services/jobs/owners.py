"""Whether a managed job owns a new object, directly or over others: a search in which each owner is asked for in turn."""

from collections.abc import Callable, Generator

import msgspec

from events.json_object import JsonObject
from services.jobs.defaulting import made_by_parent, named_queue
from services.jobs.kinds.managed_kinds import Kinds, resource_of
from services.jobs.kinds.owner_references import controller_of
from services.jobs.kinds.table import POD
from services.runtime.cluster_port import Resource

DEEPEST = 10
"""So many owners are looked up, one above the other, as by Kueue."""


class SoughtOwner(msgspec.Struct, frozen=True):
    """An owner that has to be read, in the namespace of what it owns."""

    resource: Resource
    name: str


OwnerSearch = Generator[SoughtOwner, JsonObject | None, bool]
"""It is sent each owner that it asks for, None for one that is not there."""


def managed_above(value: JsonObject, kinds: Kinds) -> OwnerSearch:
    """Whether a managed job owns an object: one that names a queue, or any where all jobs are managed.

    Rule: docs/rules/objects.md#owners-asked
    """
    for _ in range(DEEPEST):
        owner = controller_of(value)
        if owner is None:
            return False
        api, word = str(owner.get("apiVersion", "")), str(owner.get("kind", ""))
        kind = kinds.known_as(api, word)
        if kinds.owns_jobs(api, word) and (kinds.takes_all or kind is None):
            return True  # Whatever it names; of one that somebody else manages nobody reads that.
        if kind is None:
            return False
        found = yield SoughtOwner(resource_of(kind, api), str(owner.get("name", "")))
        if found is None:
            return False  # What it owned goes with it, and until then waits.
        if kinds.owns_jobs(api, word) and named_queue(found):
            return True
        value = found
    return False


def answered(search: OwnerSearch, read: Callable[[SoughtOwner], JsonObject | None]) -> bool:
    """What a search finds where owners can be read at once."""
    try:
        sought = next(search)
        while True:
            sought = search.send(read(sought))
    except StopIteration as found:
        return bool(found.value)


def depends_on_owner(value: JsonObject, word: str, kinds: Kinds) -> bool:
    """Whether it matters for what becomes of an object at the door who owns it: it waits for itself otherwise."""
    if controller_of(value) is None or not (named_queue(value) or kinds.takes_all) or made_by_parent(value, kinds):
        return False
    api = str(value.get("apiVersion") or "")
    return kinds.of(api, word) is not None or (api == "v1" and word == POD.kind)
