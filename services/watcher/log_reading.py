"""The facts on the log that all watchers have reported, and whether this watcher is still in step with them.

Several watchers run at once, and each may be late. Each follows the log as every fold does: facts of the others become part
of what it has reported, and when one of its own turns out to be older than theirs it has to begin anew. A fact that can't be
read or folded halts it, as it halts the partitions, until it is skipped on record.
"""

import asyncio
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from events.application import DecisionApplied
from events.commit import Sighting
from events.control import ObjectRemoved, ResourceVersionsRestarted
from events.device import NodeObserved, NodeUsageObserved
from events.object_version import ObjectVersion
from events.settings import SettingsObserved
from projections.object_versions import KnownVersion, ObjectVersions
from projections.trail import Trail
from services.runtime.control_log import Control
from services.runtime.log_errors import LogGap, LogRegressed
from services.runtime.log_port import Entry, Stream
from services.runtime.partition.errors import FoldFailed, MessageHalts
from services.runtime.partition.halts import MESSAGE, Halts
from services.runtime.partition.stored_message import Opened, open_message
from services.watcher.object_keys import known, place_of
from services.watcher.routes import Routes
from services.watcher.seen_versions import SeenVersions
from services.watcher.view import View
from services.watcher.workloads.reported_state import says_so

AUTHOR = "watcher"
_REMEMBERED = 10_000


class FellBehind(Exception):
    """The facts of this watcher are not those on the log: it has to read the log and list all kinds again."""


class ReportedByAll:
    """The facts that all watchers have reported on the log, and those of this one that are on their way there."""

    def __init__(
        self, view: View, seen: SeenVersions, control: Control | None = None, halts: Halts | None = None
    ) -> None:
        self.view, self.seen, self._control = view, seen, control or Control()
        self.halts = halts or Halts(AUTHOR)
        """What keeps it from reading on."""
        self.skips = asyncio.Event()
        """Set when something may have been skipped on record."""
        self.usage_heard = asyncio.Event()
        """Set when somebody has told what pods hold of a node, which is to be compared with what is seen here."""
        self._usage_told: dict[str, tuple[NodeUsageObserved, int]] = {}
        """By node, what was told last of the pods there, and the version of pods that it rests on."""
        self._trail = Trail()
        self.versions = ObjectVersions(self._trail)
        self.routes = Routes(self.versions)
        self._on_their_way: dict[str, Sighting] = {}
        """By message id."""
        self._heard: dict[str, None] = {}
        """Ids of the last facts of watchers on the log: the bus does not store a message again under one of them."""
        self.position = 0
        """The sequence of the last fact that is folded."""
        self.settings: SettingsObserved | None = None
        """The configuration that was reported last."""
        self.epoch = 0

    async def read_back(self, facts: Stream) -> None:
        """Fold all facts up to the end of the log. Raises `LogUnavailable`, and `MessageHalts` with all before it folded."""
        async for batch in facts.read(self.position):
            for entry in batch:
                with _folding(entry):
                    sighting = self._opened(entry)
                    if sighting is not None and self._folds(sighting):
                        self.view.fold(sighting.fact)
                self.position = entry.sequence
            self.view.left.clear()

    async def halted_by(self, problem: MessageHalts) -> None:
        """Report the problem, and wait until something is skipped on record."""
        self.halts.halt(MESSAGE, str(problem))
        self.skips.clear()
        await self.skips.wait()

    def reads_on(self) -> None:
        """Take back that reading stands still on a message."""
        self.halts.lift(MESSAGE)

    async def follow(self, facts: Stream) -> None:
        """Fold facts as they come, until cancelled. Raises `FellBehind`."""
        try:
            async for batch in facts.follow(self.position):
                for entry in batch:
                    await self._hear_or_wait(entry)
        except (LogGap, LogRegressed) as problem:
            raise FellBehind(str(problem)) from problem

    def send(self, sightings: Iterable[Sighting]) -> None:
        """Remember that these are on their way to the log."""
        self._on_their_way.update({one.id: one for one in sightings if one.id not in self._heard})

    def begins_epoch(self) -> bool:
        """Start a new epoch of resourceVersions with the next facts; False when one that was started is not on the log yet."""
        if self.epoch > self.versions.epoch:
            return False
        self.epoch = self.versions.epoch + 1
        return True

    def outdated(self, about: ObjectVersion) -> bool:
        """Whether a newer version of the object was reported."""
        return self.versions.outdated(about)

    def known_of(self, kind: str) -> dict[str, KnownVersion]:
        """The reported version of each object of a kind, by place."""
        return {key: one for key, one in self.versions.known.items() if key.startswith(f"{kind}/") and "#" not in key}

    def _opened(self, entry: Entry) -> Sighting | None:
        """The sighting in a message; None where it does not count. Raises `MessageNotOurs`."""
        found = open_message(entry, self._control)
        if not isinstance(found, Opened) or not isinstance(found.message, Sighting):
            return None
        return None if self.routes.misled(found.message, entry.subject) else found.message

    def _folds(self, sighting: Sighting) -> bool:
        if isinstance(sighting.fact, SettingsObserved):
            self.settings = sighting.fact
        if isinstance(sighting.fact, ResourceVersionsRestarted):
            self.versions.restart(sighting.fact.epoch)
            self.epoch = max(self.epoch, self.versions.epoch)
        if self.routes.divided:
            self.versions.forget_long_gone(sighting.at)
        folds = self.versions.take(sighting.about, sighting.fact, sighting.at)
        if folds:
            self.routes.fold(sighting)
        self._trail.forget()
        return folds

    async def _hear_or_wait(self, entry: Entry) -> None:
        while True:
            try:
                with _folding(entry):
                    self._hear(entry)
            except MessageHalts as problem:
                await self.halted_by(problem)
            else:
                self.reads_on()
                self.position = entry.sequence
                return

    def _hear(self, entry: Entry) -> None:
        sighting = self._opened(entry)
        if sighting is None:
            return
        folds = self._folds(sighting)
        if isinstance(sighting.fact, DecisionApplied):
            self.view.fold(sighting.fact)
        if sighting.author == AUTHOR:
            self._heard[sighting.id] = None
            if len(self._heard) > _REMEMBERED:
                del self._heard[next(iter(self._heard))]
        ours = self._on_their_way.pop(sighting.id, None)
        if self._about_usage(sighting, folds=folds):
            return
        if ours is not None:
            if not folds:
                raise FellBehind(f"{_name(sighting)} was reported at a newer version by another watcher")
            return
        if not folds or sighting.author != AUTHOR or self._says_so(sighting):
            return
        self.view.fold(sighting.fact)
        self.view.left.clear()
        if sighting.about is not None:
            self._keep_in_step(sighting.about)

    def _keep_in_step(self, about: ObjectVersion) -> None:
        """Compare what another watcher has told of an object with what was seen of it here. Raises `FellBehind`."""
        ahead = any(one.about is not None and one.about.place == about.place for one in self._on_their_way.values())
        if ahead or self.seen.version_of(about.place) > about.version > 0:
            raise FellBehind(f"{about.place} was reported differently by another watcher")
        if not (about.gone or about.part) and about.epoch == self.versions.epoch and self.seen.is_gone(about):
            # Its watcher was replaced meanwhile: nobody else saw the object go.
            raise FellBehind(f"{about.place} was reported late by another watcher, and is gone")

    def _about_usage(self, sighting: Sighting, *, folds: bool) -> bool:
        """Hear what concerns the usage of nodes; whether the fact is about nothing else."""
        match sighting.fact:
            case NodeUsageObserved() as fact:
                version = sighting.about.version if sighting.about is not None else 0
                self._hear_usage(fact, version, folds=folds)
                return True
            case NodeObserved(name=name):
                # A node that was gone is there again: what its pods hold counts from now on, however old they are.
                self.view.node_usage.look_again(name)
                self.usage_heard.set()
            case ObjectRemoved(kind="Node", name=name) if folds:
                self._usage_told.pop(name, None)
            case _:
                pass
        return False

    def _hear_usage(self, fact: NodeUsageObserved, version: int, *, folds: bool) -> None:
        """It rests on all pods that were seen so far: nobody falls behind by it.

        Who has seen more compares again. Who has seen as much does not: two who saw it differently would never end.
        """
        if folds:
            self._usage_told[fact.node] = fact, version
        lost = ObjectRemoved(kind="Node", namespace="", name=fact.node)
        for one in self._on_their_way.values():
            if one.fact == lost or (isinstance(one.fact, NodeUsageObserved) and one.fact.node == fact.node):
                return  # The view is ahead by that, until it is heard.
        if fact.node not in self._usage_told:
            return
        last, seen = self._usage_told[fact.node]
        self.view.fold(last)
        if self.seen.pods_counted > seen:
            self.view.node_usage.look_again(fact.node)
            self.usage_heard.set()

    def _says_so(self, sighting: Sighting) -> bool:
        fact = sighting.fact
        if place_of(fact):
            return known(self.view.facts, fact)
        workload = getattr(fact, "workload", "")
        reported = self.view.workloads.get(workload) or self.view.slices.get(workload)
        return bool(workload) and says_so(reported, fact)


@contextmanager
def _folding(entry: Entry) -> Generator[None, None, None]:
    """Raises `FoldFailed`, naming the place of the fact, for whatever goes wrong with it."""
    try:
        yield
    except (MessageHalts, FellBehind):
        raise
    except Exception as problem:
        raise FoldFailed(stream=entry.stream, sequence=entry.sequence, problem=problem) from problem


def _name(sighting: Sighting) -> str:
    return type(sighting.fact).__name__ if sighting.about is None else sighting.about.place
