"""What all small controllers share: told of every change, they look at one object at a time, and at due times."""

import asyncio
import heapq
from abc import ABC, abstractmethod

from events.event import Millis
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.resources import Resources
from ops.sandbox.embedded_cluster.store import Name, Object, ObjectChange


class Controller(ABC):
    """A reconciler on the store's changes. Looking at an object twice changes nothing."""

    def __init__(self, resources: Resources, clock: ScaledClock) -> None:
        self.resources, self.store, self.clock = resources, resources.store, clock
        self._due: list[tuple[Millis, str, Name]] = []

    async def run(self) -> None:
        """Work until cancelled."""
        queue = self.store.watch()
        try:
            self.look_at_all()
            while True:
                change = await self._next(queue)
                if change is not None and change.key in self.kinds():
                    meta = change.object["metadata"]
                    self.changed(change, (meta.get("namespace", ""), meta["name"]))
                now = self.clock.now()
                while self._due and self._due[0][0] <= now:
                    _, key, name = heapq.heappop(self._due)
                    value = self.store.get(key, name)
                    if value is not None:
                        self.look(key, name, value)
                self.settled(queue.empty())
        finally:
            self.store.unwatch(queue)

    def look_at_all(self) -> None:
        """Look at every object of its kinds once."""
        self._due.clear()
        for key in self.kinds():
            for name, value in sorted(self.store.of(key).items()):
                self.look(key, name, value)
        self.settled(True)  # noqa: FBT003 - whoever looks at everything has time

    def due(self) -> Millis | None:
        """When something is to be looked at again though nothing changes."""
        return self._due[0][0] if self._due else None

    @abstractmethod
    def kinds(self) -> tuple[str, ...]:
        """The kinds whose changes it wants to see."""

    @abstractmethod
    def look(self, key: str, name: Name, value: Object) -> None:
        """Bring the world one step nearer to what the object asks for."""

    def changed(self, change: ObjectChange, name: Name) -> None:
        """An object changed; by default it is looked at unless it is gone."""
        if change.type != "DELETED":
            current = self.store.get(change.key, name)
            if current is not None:
                self.look(change.key, name, current)

    def settled(self, idle: bool) -> None:  # noqa: B027, FBT001 - most controllers have nothing to do then
        """All changes so far were seen."""

    def look_again(self, at: Millis, key: str, name: Name) -> None:
        """Have the object looked at when that time comes."""
        heapq.heappush(self._due, (at, key, name))

    async def _next(self, queue: "asyncio.Queue[ObjectChange | None]") -> ObjectChange | None:
        if not self._due:
            return await queue.get()
        left = max(self._due[0][0] - self.clock.now(), 0) / 1000 / self.clock.scale
        try:
            async with asyncio.timeout(left):
                return await queue.get()
        except TimeoutError:
            return None
