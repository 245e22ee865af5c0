"""The watchers' view, saved on the shelf: a watcher that restarts reads only the facts since then.

A saved view is folded from the log alone, not taken from a running watcher, whose view is ahead of the log. It names its last
fact by sequence and hash: if that is not on this log, the view is ignored and the facts are read from their beginning.
"""

import hashlib
from collections.abc import Callable, Iterator

import msgspec
import structlog

from events.catalogue import Fact
from events.quota import PriorityClassObserved
from events.settings import SettingsObserved
from events.subjects import FACTS
from projections.json_in_pieces import fields_as_json, rows_as_json
from projections.object_versions import SavedVersion
from projections.snapshot import Tables
from services.runtime.clock_port import Clock
from services.runtime.log_errors import LogGap, LogUnavailable
from services.runtime.log_port import Stream
from services.runtime.partition.errors import MessageHalts
from services.runtime.shelf_port import Shelf
from services.watcher.log_reading import ReportedByAll
from services.watcher.workloads.reported_state import ReportedState
from services.watcher.workloads.saved_report import SavedReport, as_held, as_saved

log = structlog.get_logger()

KEY = "watcher"
EVERY = 5_000
"""The view is saved after this many facts and as many as it holds objects, or after ten looks if there were any facts: what it costs grows with them."""
_LOOK_MS = 30_000
_LOOKS = 10
_report = msgspec.json.Decoder(SavedReport)


class Seal(msgspec.Struct, frozen=True, kw_only=True):
    """The fact that a saved view rests on, by which it is held against the log."""

    position: int
    sha256: str
    """The SHA-256 of the bytes of that fact."""


class SavedView(Seal, frozen=True, kw_only=True):
    """All that was reported up to a fact."""

    made_with: SettingsObserved | None
    """The configuration under which the facts were folded: it says which kinds of jobs there are."""
    settings: SettingsObserved | None
    known: dict[str, SavedVersion]
    epoch: int
    facts: dict[str, Fact]
    workloads: dict[str, msgspec.Raw]
    """What was reported of each, a `SavedReport`; each is read by itself, for only then do they hold what most have in common once for all."""
    by_source: dict[str, str]
    slices: dict[str, msgspec.Raw] = {}
    routes: Tables | None = None
    """Where queues and namespaces are decided."""


class ViewSaver:
    """Brings the view to the shelf, and back from there."""

    def __init__(
        self, facts: Stream, shelf: Shelf, made_with: SettingsObserved | None, begin: Callable[[], ReportedByAll]
    ) -> None:
        self._facts, self._shelf, self._made_with, self._begin = facts, shelf, made_with, begin
        self._saved = 0
        self._objects = 0

    async def restore(self, reported: ReportedByAll) -> None:
        """Begin at the newest view that belongs to this log, if there is one. Raises `LogUnavailable`."""
        for label in await self._shelf.labels(KEY):
            try:
                saved = msgspec.json.decode(await self._shelf.take(label) or b"", type=SavedView)
                if saved.made_with == self._made_with and await is_of_log(self._facts, saved):
                    begin_at(reported, saved)
                    self._saved, self._objects = saved.position, len(saved.known)
                    return
            except msgspec.MsgspecError as problem:
                log.warning("saved view passed over", why=str(problem))

    async def run(self, clock: Clock) -> None:
        """Save every so often, until cancelled; what can't be saved now is saved later."""
        looks = 0
        while True:
            await clock.sleep(_LOOK_MS)
            looks += 1
            try:
                fresh = (await self._facts.last()).sequence - self._saved
                if self.due(fresh, looks):
                    await self.save()
                    looks = 0
            except (LogUnavailable, LogGap, MessageHalts) as problem:
                log.warning("view not saved", problem=str(problem))

    def due(self, fresh: int, looks: int) -> bool:
        """Whether to save, with so many facts since it was saved, and at so many looks."""
        return fresh >= EVERY + self._objects or (fresh > 0 and looks >= _LOOKS)

    async def save(self) -> None:
        """Fold the facts since the last saved view, and save the result. Raises `LogUnavailable`, `LogGap`, `MessageHalts`."""
        reported = self._begin()
        try:
            await self._save(reported)
        finally:
            reported.view.let_go()

    async def _save(self, reported: ReportedByAll) -> None:
        await self.restore(reported)
        await reported.read_back(self._facts)
        if reported.position <= self._saved:
            return
        last = await self._facts.get(reported.position)
        pieces = view_as_json(reported, hashlib.sha256(last.data).hexdigest(), self._made_with)
        await self._shelf.put(KEY, pieces, upto={FACTS: reported.position}, rules="")
        self._saved, self._objects = reported.position, len(reported.versions.known)
        log.info("view saved", sequence=reported.position)


async def is_of_log(facts: Stream, seal: Seal) -> bool:
    """Whether a saved view rests on a fact that stands on the log. Raises `LogUnavailable`."""
    try:
        stored = await facts.get(seal.position)
    except LogGap:
        return False
    return hashlib.sha256(stored.data).hexdigest() == seal.sha256


def seal_of(data: bytes | None) -> Seal | None:
    """The fact that a saved view rests on, without the view; None for what is no saved view."""
    try:
        return msgspec.json.decode(data or b"", type=Seal)
    except msgspec.MsgspecError:
        return None


def view_as_json(reported: ReportedByAll, sha256: str, made_with: SettingsObserved | None) -> Iterator[bytes]:
    """All that was folded from the facts, as the JSON of a `SavedView` in pieces."""
    view, versions = reported.view, reported.versions
    short = SavedView(
        position=reported.position,
        sha256=sha256,
        made_with=made_with,
        settings=reported.settings,
        known={},
        epoch=versions.epoch,
        facts=view.facts,
        workloads={},
        by_source=view.by_source,
        routes=reported.routes.saved(),
    )
    long = {
        "known": rows_as_json(versions.known),  # The bytes of these are those of `SavedVersion`.
        "workloads": rows_as_json(view.workloads, as_saved),
        "slices": rows_as_json(view.slices, as_saved),
    }
    return fields_as_json(short, long)


def begin_at(reported: ReportedByAll, saved: SavedView) -> None:
    """Begin with what was saved instead of reading all of FACTS. Raises `MsgspecError`, and nothing has begun then."""
    workloads, slices = _held(saved.workloads), _held(saved.slices)
    reported.position, reported.settings, reported.epoch = saved.position, saved.settings, saved.epoch
    reported.versions.restore(saved.known, saved.epoch)
    reported.routes.begin_at(saved.routes, saved.facts.values())
    reported.view.facts.update(saved.facts)
    reported.view.workloads.update(workloads)
    reported.view.by_source.update(saved.by_source)
    reported.view.slices.update(slices)
    for place, fact in saved.facts.items():
        reported.view.node_usage.note(fact)
        if isinstance(fact, PriorityClassObserved):
            reported.view.priority_classes[place.replace("//", "/")] = fact


def _held(rows: dict[str, msgspec.Raw]) -> dict[str, ReportedState]:
    return {key: as_held(_report.decode(row)) for key, row in rows.items()}
