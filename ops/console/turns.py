"""Questions that take long, one at a time for each who asks: nobody waits for more than one of each of the others."""

import asyncio
from weakref import WeakValueDictionary


class AskersTurns:
    """Who asks again while a question of theirs is being answered waits for that one; the others come in between."""

    def __init__(self) -> None:
        self._under_way = WeakValueDictionary[str, asyncio.Lock]()

    def of(self, asker: str) -> asyncio.Lock:
        """What is held while one of somebody's questions is answered."""
        found = self._under_way.get(asker)
        if found is None:
            found = self._under_way[asker] = asyncio.Lock()
        return found
