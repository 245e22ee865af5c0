"""The API server as one simulated process reaches it: which requests faults refuse, delay or cut."""

from collections import Counter

from ops.sandbox.embedded_cluster.failures import ApiFailure, conflict
from ops.sandbox.simulate.active_faults import ActiveFaults
from ops.sandbox.simulate.fault_plan import FaultKind
from services.runtime.cluster_port import ClusterUnavailable

_WRITES = frozenset({"POST", "PATCH", "DELETE"})


class ApiGate:
    """A process's way to the API server."""

    def __init__(self, process: str, faults: ActiveFaults, writes: Counter[str] | None = None) -> None:
        self._process, self._faults = process, faults
        self._writes: Counter[str] = Counter() if writes is None else writes
        """By process, how often it asked for a change."""

    async def before(self, method: str, path: str) -> None:
        """A request is on its way."""
        self._writes[self._process] += method in _WRITES
        await self._faults.latency()
        await self._faults.hold_up(self._faults.lasts(self._process, FaultKind.API_SLOW))
        if self._faults.strikes(self._process, FaultKind.API_BUSY) is not None:
            raise ApiFailure(429, "TooManyRequests", "too many requests", retry_after=1)
        if self._faults.strikes(self._process, FaultKind.API_BROKEN) is not None:
            raise ApiFailure(self._faults.chance.choice((500, 502, 503, 504)), "InternalError", "not now")
        if method == "PATCH" and self._faults.strikes(self._process, FaultKind.API_CONFLICT) is not None:
            raise conflict(path.split("/")[-1], path)

    async def after(self, method: str, path: str) -> None:
        """The answer is on its way."""
        del path
        await self._faults.latency()
        if method in _WRITES and self._faults.strikes(self._process, FaultKind.API_CUT) is not None:
            raise ClusterUnavailable("the connection was cut", 0.2)

    async def line(self, path: str) -> None:
        """A line of a watch is on its way."""
        del path
        await self._faults.hold_up(self._faults.lasts(self._process, FaultKind.LATE_WATCHER))
