"""What a step of a scenario waits for, seen on the log: how jobs stand, and what was reported about cards."""

from collections.abc import Sequence

from events.device import DriftDetected, DriftKind
from ops.queries.explaining import find_workload
from ops.queries.stored import opened
from ops.sandbox.scenario.platform import ScenarioPlatform
from ops.sandbox.scenario.script import JobStanding, Need
from projections.explanation.read_models import state_of
from projections.workloads.lifecycle import Workload
from projections.world import World


class Needs:
    """Looks at a platform that runs."""

    def __init__(self, on: ScenarioPlatform) -> None:
        self._on = on
        self._reported: set[tuple[DriftKind | None, str]] = set()
        """Also those that were resolved since."""
        self._read = 0

    async def unmet(self, needs: Sequence[Need]) -> list[Need]:
        """Those that are not so yet."""
        if any(one.drift is not None for one in needs):
            await self._read_on()
        return [one for one in needs if not self._is_so(one)]

    def _is_so(self, need: Need) -> bool:
        found = self._workload(need.job or need.holder)
        if need.drift is not None:
            return (need.drift, found.key if found is not None else need.holder) in self._reported
        if found is None:
            return False
        if need.cluster:
            dispatch = self._world().dispatches.get(found.key)
            if dispatch is None or dispatch.cluster != need.cluster:
                return False
        word = state_of(found).word
        match need.state:
            case JobStanding.WAITS:
                return word == "pending" and found.attempt is not None
            case JobStanding.RUNS:
                return word == "running"
            case JobStanding.ENDED:
                return word == "finished"

    def _workload(self, job: str) -> Workload | None:
        streams = self._on.running.streams
        return find_workload(self._world(), f"job/{job}") if streams.sole in self._on.running.hosts else None

    def _world(self) -> World:
        return self._on.running.hosts[self._on.running.streams.sole].fold.world

    async def _read_on(self) -> None:
        stream = await self._on.running.stream(self._on.running.streams.pool)
        async for batch in stream.read(self._read):
            for entry in batch:
                self._read = entry.sequence
                for one in opened(entry, self._on.running.control):
                    if isinstance(one.event, DriftDetected):
                        self._reported.add((one.event.kind, one.event.holder))
