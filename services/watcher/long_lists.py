"""How a list is looked at that may be as long as a cluster is large: others in the process have their turns in between.

Whoever has no turn for three seconds loses his leases, the watcher's own among them: then it would begin anew, with the same list.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from events.json_object import JsonObject

AT_ONCE = 50
"""So many objects are looked at in one go, some 10 ms of a processor."""


async def with_turns(objects: Sequence[JsonObject]) -> AsyncIterator[JsonObject]:
    """The objects of a list in their order; after so many everybody else has a turn."""
    for number, one in enumerate(objects):
        if number and number % AT_ONCE == 0:
            await asyncio.sleep(0)
        yield one
