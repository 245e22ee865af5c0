"""The newest version on record of each object, and which are gone: a fact about an older one is not folded.

Several watchers may report the same objects, and one of them may be late, because it was paused or cut off. Versions are
compared as numbers: of one kind in one cluster they grow with every write. What is gone is remembered for an hour of the
log's own time, so that what is kept stays as small as the cluster.
"""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from events.catalogue import Fact
from events.commit import Sighting
from events.control import ResourceVersionsRestarted
from events.event import Millis
from events.object_version import ObjectVersion
from events.workload import WorkloadDeleted
from projections.trail import Trail

REMEMBERED: Millis = 3_600_000
_KNOWN, _CONTEXTS = 4096, 64
_STEP: Millis = REMEMBERED // 6
"""What is gone is forgotten together, so many times an hour."""
ACCOUNTED = "accounted"
"""The part of a pod's key for facts that its finalizer may be removed, versioned apart from the pod's content."""


NODE_USAGE = "usage"
"""The part of a node's key for facts about what pods hold there: they rest on the versions of pods, not of the node."""
_PARTS = (ACCOUNTED, NODE_USAGE)


class KnownVersion(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The newest version on record of an object that is there."""

    version: int
    context: int = 0


class GoneVersion(KnownVersion, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The version of the end of an object. Of those that are there, which are many more, none of this has to be held."""

    gone: bool
    """Always true: it is what tells the two apart where they are saved."""
    since: Millis = 0
    """When its deletion was reported."""


class SavedVersion(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Either of them, as it is saved; its bytes are theirs."""

    version: int
    context: int = 0
    gone: bool = False
    since: Millis = 0

    @property
    def held(self) -> KnownVersion:
        """The version as worlds hold it."""
        return _known(self.version, self.context, self.gone, self.since)


class ObjectVersions:
    """The newest version of every object, by `kind/namespace/name`, with `#part` behind it for facts with a part."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self.known: dict[str, KnownVersion] = {}
        self._epoch: dict[str, int] = {}
        self._gone: dict[Millis, dict[str, None]] = {}
        """Objects that are gone, by the step of time in which that was reported."""

    @property
    def epoch(self) -> int:
        """How often the cluster's versions have begun anew."""
        return self._epoch.get("", 0)

    def outdated(self, about: ObjectVersion) -> bool:
        """Whether something newer is known of the object."""
        if about.epoch != self.epoch:
            return about.epoch < self.epoch
        if not about.version:
            return False
        itself = self.known.get(about.place)
        if about.part:
            if isinstance(itself, GoneVersion) and about.version < itself.version:
                return True
            itself = self.known.get(_key(about))
        if itself is None:
            return False
        # Who is gone at a version was there at it before; that it was there is never reported after its end.
        gone = isinstance(itself, GoneVersion)
        return (about.version, about.gone, about.context) < (itself.version, gone, itself.context)

    def take(self, about: ObjectVersion | None, fact: Fact, at: Millis) -> bool:
        """Record the version of a fact that was reported at this time; whether the fact may be folded."""
        if about is not None:
            if self.outdated(about):
                return False
            if about.version:
                self._note(about, at)
        if isinstance(fact, WorkloadDeleted):
            beside = f"Workload/{fact.workload}"
            if about is None or about.place != beside:
                # Versions of its Workload object need not be kept beside those of its job any more.
                self._trail.drop(self.known, beside)
        return True

    def restart(self, epoch: int) -> None:
        """The cluster's versions begin anew: versions from before can't be compared with those to come."""
        if epoch <= self.epoch:
            return
        self._trail.put(self._epoch, "", epoch)
        for key in list(self.known):
            self._trail.drop(self.known, key)
        for step in list(self._gone):
            self._trail.drop(self._gone, step)

    @property
    def saved(self) -> dict[str, SavedVersion]:
        """All versions, to be saved."""
        return {key: _as_saved(one) for key, one in self.known.items()}

    def restore(self, known: Mapping[str, SavedVersion], epoch: int) -> None:
        """Go on from the versions of a snapshot."""
        self.known.update((key, one.held) for key, one in known.items())
        if epoch:
            self._epoch[""] = epoch
        for key, one in self.known.items():
            if isinstance(one, GoneVersion):
                self._gone.setdefault(one.since // _STEP, {})[key] = None

    def _note(self, about: ObjectVersion, at: Millis) -> None:
        key = _key(about)
        before = self.known.get(key)
        if isinstance(before, GoneVersion):
            if about.gone and before.version == about.version:
                return
            self._trail.drop(self._gone.get(before.since // _STEP, {}), key)
        since = at if about.gone else 0
        known = _known(about.version, about.context, about.gone, since)
        if known == before:
            return
        self._trail.put(self.known, key, known)
        if about.gone:
            for part in _PARTS:
                self._trail.drop(self.known, f"{about.place}#{part}")
            self.forget_long_gone(at)
            step = at // _STEP
            if step not in self._gone:
                self._trail.put(self._gone, step, {})
            self._trail.put(self._gone[step], key, None)

    def forget_long_gone(self, at: Millis) -> None:
        """Forget what is gone for so long at a time; on a divided log before each fact, for partitions hear of different ends."""
        for step in sorted(self._gone):
            if (step + 1) * _STEP + REMEMBERED > at:
                return
            for key in list(self._gone[step]):
                self._trail.drop(self.known, key)
            self._trail.drop(self._gone, step)


class FoldedFacts:
    """Which facts of a whole log fold, for readers of the log that keep no world."""

    def __init__(self) -> None:
        self._trail = Trail()
        self._versions = ObjectVersions(self._trail)

    def folds(self, sighting: Sighting) -> bool:
        """Whether the next fact of the log folds."""
        fact = sighting.fact
        if isinstance(fact, ResourceVersionsRestarted):
            self._versions.restart(fact.epoch)
        folds = self._versions.take(sighting.about, fact, sighting.at)
        self._trail.forget()
        return folds


@lru_cache(maxsize=_KNOWN)
def _known(version: int, context: int, gone: bool, since: Millis) -> KnownVersion:
    """The version; one for all worlds of a process, which take each fact in turn."""
    if gone:
        return GoneVersion(version=version, context=_context(context), gone=True, since=since)
    return KnownVersion(version=version, context=_context(context))


def _as_saved(known: KnownVersion) -> SavedVersion:
    if isinstance(known, GoneVersion):
        return SavedVersion(version=known.version, context=known.context, gone=True, since=known.since)
    return SavedVersion(version=known.version, context=known.context)


@lru_cache(maxsize=_CONTEXTS)
def _context(context: int) -> int:
    """The number; one for all versions that were seen with it."""
    return context


def _key(about: ObjectVersion) -> str:
    return f"{about.place}#{about.part}" if about.part else about.place
