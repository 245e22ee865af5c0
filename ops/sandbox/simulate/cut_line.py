"""The line from a manager to a worker cluster in virtual time: what goes over it while it is cut, and the connector that uses it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing

from events.event import Millis
from ops.production.kubernetes.reflector import Reflector
from ops.production.kubernetes.remote import HOME
from ops.sandbox.embedded_cluster.api.in_process import InProcessClient
from ops.sandbox.embedded_cluster.resources import Resources
from services.runtime.cluster_port import ClusterUnavailable, Resource, Sight

_LATENCY_S = 0.02


class CutLine:
    """A line that is whole or cut; whatever is on its way when it is cut may have been done or not."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.whole, self.broken = asyncio.Event(), asyncio.Event()
        self.whole.set()

    def cut(self) -> None:
        """Nothing gets through from now on, and all connections break."""
        self.whole.clear()
        self.broken.set()
        self.broken = asyncio.Event()

    def restore(self) -> None:
        """It is whole again."""
        self.whole.set()

    def check(self) -> None:
        """Raises `ClusterUnavailable` while it is cut."""
        if not self.whole.is_set():
            raise ClusterUnavailable(f"cluster {self.name} can't be reached")

    async def before(self, method: str, path: str) -> None:
        """A request is on its way."""
        del method, path
        self.check()
        await asyncio.sleep(_LATENCY_S)
        self.check()

    async def after(self, method: str, path: str) -> None:
        """The answer is on its way: what was asked for is done, whether or not that is heard of."""
        await self.before(method, path)

    async def line(self, path: str) -> None:
        """A line of a watch is on its way."""
        await self.before("GET", path)


class LineClient(InProcessClient):
    """What a manager does in a worker cluster, over a line."""

    def __init__(self, resources: Resources, line: CutLine, now: Callable[[], Millis]) -> None:
        super().__init__(resources, line, now)
        self._between = line

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        """All objects, then each change, until the line is cut. Raises `ClusterUnavailable`."""
        self._between.check()
        broken = asyncio.ensure_future(self._between.broken.wait())
        try:
            async with aclosing(Reflector(self, patient=False).watch(resource)) as sights:
                while True:
                    following = asyncio.ensure_future(anext(sights))
                    try:
                        await asyncio.wait({following, broken}, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        if not following.done():
                            following.cancel()
                            await asyncio.gather(following, return_exceptions=True)
                    if following.cancelled():
                        raise ClusterUnavailable(f"the connection to cluster {self._between.name} broke")
                    yield following.result()
        finally:
            broken.cancel()

    async def close(self) -> None:
        """Close the connection; there is none to keep."""


class LineConnector:
    """Reaches worker clusters by the host in their kubeconfig."""

    namespace = HOME

    def __init__(self, clients: Mapping[str, Callable[[], LineClient]]) -> None:
        self._clients = clients

    def resolved(self, path: str) -> str:
        """There are no files."""
        raise FileNotFoundError(2, "no such file", path)

    def read(self, path: str) -> str:
        """There are no files."""
        return self.resolved(path)

    async def run(self, words: Sequence[str], variables: Mapping[str, str]) -> bytes:
        """There are no programs."""
        del variables
        raise ClusterUnavailable(f"getting credentials: exec: executable {words[0]} not found")

    async def connect(self, kubeconfig: str) -> LineClient:
        """The cluster that a kubeconfig names. Raises `ClusterUnavailable`."""
        server = kubeconfig.partition("server: ")[2].partition("\n")[0]
        client = self._clients.get(server.removeprefix("http://"))
        if client is None:
            raise ClusterUnavailable(f"nobody answers at {server}")
        return client()
