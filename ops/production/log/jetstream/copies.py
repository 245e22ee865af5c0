"""Copies of a site's streams at the hub: mirrors that the hub's server keeps, with the same messages under the same sequences.

Rule: docs/rules/log.md#copies
"""

import msgspec

from events.event import Millis
from events.json_object import JsonObject
from events.subjects import CONTROL
from ops.production.log.jetstream.bus import JetStreamBus
from ops.production.log.jetstream.connection import domain_questions
from ops.production.log.jetstream.generations import (
    NOT_THERE,
    as_answer,
    asked,
    decoded,
    generations,
    names_of,
)
from ops.production.log.jetstream.refusals import UNANSWERED, AnsweredError
from ops.production.log.jetstream.rolling import StillNeeded
from ops.production.log.sites import HUB
from ops.production.log.streams import streams_on
from services.runtime.log_errors import LogGap, LogUnavailable
from services.runtime.log_port import Entry

_NANOS_PER_MILLI = 1_000_000
_DEADLINE_S = 5.0


class CopyState(msgspec.Struct, frozen=True, kw_only=True):
    """How far the copy of one stream has come."""

    stream: str
    copied: int
    """Its last sequence; 0 while nothing has come."""
    stored: int | None = None
    """The last sequence at the site; None while the site is not connected."""
    before: int = 0
    """What that was before the copy was looked at: what the site stores while it is looked at is on its way."""
    strange: bool = False
    """Whether what the site holds is known to be another log than the one that was copied."""

    @property
    def behind(self) -> int:
        """How many messages of the site are known not to have come yet."""
        return max(self.before - self.copied, 0)

    @property
    def lost(self) -> bool:
        """Whether the site itself does not hold any more what was copied of it."""
        return self.stored is not None and self.stored < self.copied


class SiteState(msgspec.Struct, frozen=True, kw_only=True):
    """How the copy of one site's log stands."""

    site: str
    streams: tuple[CopyState, ...] = ()
    connected: bool = False
    silent: Millis | None = None
    """How long ago the site was heard by its copy; None when it was not since the hub's server began."""
    problem: str = ""
    """Why the hub could not be asked; then nothing else is known."""

    @property
    def behind(self) -> int | None:
        """How many messages are missing in the copy; None while that is not known."""
        return sum(one.behind for one in self.streams) if self.connected else None

    @property
    def whole(self) -> bool:
        """Whether the copy is known to be what the site holds."""
        return self.behind == 0 and not self.amiss

    @property
    def amiss(self) -> bool:
        """Whether what the site holds is not what was copied of it, and somebody has to do something."""
        return any(one.lost or one.strange for one in self.streams)

    def describe(self) -> str:
        """A line for people."""
        if self.problem:
            return f"{self.site}: {self.problem}"
        if not self.connected and not self.streams:
            return f"{self.site}: nothing of it is copied yet: it is not connected, or its log has not begun"
        if not self.connected:
            heard = (
                "not heard since the hub's bus began" if self.silent is None else f"heard {self.silent // 1000} s ago"
            )
            return f"{self.site}: not connected, {heard}; what it decides meanwhile is copied when it is back"
        if strange := [one.stream for one in self.streams if one.strange]:
            return (
                f"{self.site}: {', '.join(strange)} at the site is another log than what was copied of it: give each site a name of its own "
                "where two are called so; where it has begun anew, remove its old copies from its account at the hub"
            )
        if lost := [
            f"{one.stream} ends at {one.stored} and its copy at {one.copied}" for one in self.streams if one.lost
        ]:
            return f"{self.site}: the site has lost what was copied of it: {', '.join(lost)}; restore it from a backup of its copy"
        late = [f"{one.stream} {one.copied} of {one.before}" for one in self.streams if one.behind]
        return f"{self.site}: connected, {', '.join(late) or 'the copy is whole'}"


class _Mirror(msgspec.Struct, frozen=True):
    active: int = -1


class _Config(msgspec.Struct, frozen=True):
    mirror: JsonObject | None = None


class _State(msgspec.Struct, frozen=True):
    last_seq: int = 0


class _Info(msgspec.Struct, frozen=True):
    config: _Config = _Config()
    mirror: _Mirror = _Mirror()
    state: _State = _State()
    error: AnsweredError | None = None


async def keep_copies(here: JetStreamBus, there: JetStreamBus) -> list[str]:
    """Have the hub copy every stream of a site from its beginning on; the streams whose copies were not there before.

    `there` is the site's own bus behind that of the hub. May be repeated: a log that was divided has more streams. Raises `LogUnavailable`.
    """
    made: list[str] = []
    for stream in (await streams_on(there)).every:
        made += [name for name in names_of(stream) if await _copied(here, there.client.domain, name)]
    return made


async def site_state(site: str, here: JetStreamBus, there: JetStreamBus) -> SiteState:
    """How the copy of a site's log stands beside what the site holds, as far as that answers. Raises `LogUnavailable`."""
    connected, streams, stored, before = True, tuple[str, ...](), dict[str, int](), dict[str, int]()
    try:
        streams = (await streams_on(there)).every
        before = {name: await _end(there, name) for name in streams}
    except LogUnavailable:
        connected = False
        if (await _info(here, CONTROL)).error is None:
            streams = (await streams_on(here)).every
    # The copy between two looks at the site: what that stores meanwhile is neither missing here nor lost there.
    ends = {name: await _end(here, name) for name in streams}
    try:
        stored = {name: await _end(there, name) for name in streams} if connected else {}
    except LogUnavailable:
        connected = False
    strangers = {name for name in stored if await _is_another(here, there, name, min(ends[name], stored[name]))}
    copied = [
        CopyState(
            stream=name, copied=end, stored=stored.get(name), before=before.get(name, 0), strange=name in strangers
        )
        for name, end in ends.items()
    ]
    heard = [one for name in streams if (one := await _silence(here, name)) is not None]
    return SiteState(site=site, streams=tuple(copied), connected=connected, silent=min(heard) if heard else None)


async def check_copied(site: JetStreamBus, stream: str) -> None:
    """What was rolled of a stream may be removed at a site once the hub's copy has all of it, if the hub keeps one. Raises `StillNeeded`."""
    for one in await generations(site.client, stream):
        if one.takes_in:
            continue
        try:
            reply = await site.client.request(f"{domain_questions(HUB)}STREAM.INFO.{one.name}", b"{}", _DEADLINE_S)
        except UNANSWERED as problem:
            raise StillNeeded(stream, "the hub, which keeps a copy of it, is not connected") from problem
        found = decoded(one.name, reply.data, _Info)
        if found.error is not None and found.error.err_code == NOT_THERE:
            continue
        if found.error is not None or found.state.last_seq < one.last + 1:
            raise StillNeeded(stream, f"the copy at the hub has {found.state.last_seq} of {one.last + 1} messages")


async def _copied(here: JetStreamBus, domain: str, name: str) -> bool:
    """Create a mirror where none is; whether it was created."""
    info = await _info(here, name)
    if info.error is None:
        if info.config.mirror is None:
            problem = (
                f"the hub's account of this site holds a stream {name} of its own, which is no copy: remove that first"
            )
            raise LogUnavailable(stream=name, problem=problem)
        return False
    if info.error.err_code != NOT_THERE:
        raise LogUnavailable(stream=name, problem=info.error.description)
    settings = here.settings_of(name)
    config: JsonObject = {
        "name": name,
        "storage": "file",
        "retention": "limits",
        "discard": "new",
        "num_replicas": settings.num_replicas,
        "deny_delete": True,
        "deny_purge": True,
        # It is to hold all that the site ever had: what may be removed there is kept here.
        "max_bytes": -1,
        "mirror": {
            "name": name,
            "external": {"api": domain_questions(domain).removesuffix("."), "deliver": ""},
        },
    }
    made = as_answer(name, await asked(here.client, f"STREAM.CREATE.{name}", config), _Info)
    if made.error is not None:
        raise LogUnavailable(stream=name, problem=made.error.description)
    return True


async def _end(bus: JetStreamBus, stream: str) -> int:
    return max((one.last for one in await generations(bus.client, stream)), default=0)


async def _is_another(here: JetStreamBus, there: JetStreamBus, stream: str, common: int) -> bool:
    """Whether the first message of a stream, or the last that both should have, differs between copy and site."""
    for sequence in sorted({1, common}) if common else ():
        found = [await _message(bus, stream, sequence) for bus in (here, there)]
        if None not in found and found[0] != found[1]:
            return True
    return False


async def _message(bus: JetStreamBus, stream: str, sequence: int) -> Entry | None:
    """A message, or None where it can't be had: the site has removed what it has rolled, or has just gone."""
    try:
        return await (await bus.stream(stream)).get(sequence)
    except (LogGap, LogUnavailable):
        return None


async def _silence(here: JetStreamBus, stream: str) -> Millis | None:
    """How long ago the site was heard by one of the copies of a stream; None when it was not."""
    heard = [(await _info(here, name)).mirror.active for name in names_of(stream)]
    return min((one // _NANOS_PER_MILLI for one in heard if one >= 0), default=None)


async def _info(bus: JetStreamBus, name: str) -> _Info:
    return as_answer(name, await asked(bus.client, f"STREAM.INFO.{name}", {}), _Info)
