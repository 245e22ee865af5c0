"""What a stream says about itself: each commit names the one before it, and how much of its inputs it had folded."""

from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec

from events.commit import InputRun
from events.hash_chain import GENESIS, bytes_hash
from events.merkle import leaf_hash
from events.subjects import FACTS
from ops.production.archive.finding import AuditFinding
from ops.queries.audit.amiss import Claim, claim_of
from services.runtime.log_port import Entry


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a commit that any version can read."""

    id: str
    prev_hash: str
    base: int
    inputs: tuple[InputRun, ...] = ()


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """What the audit needs of a message: a function of the message alone."""

    leaf: bytes
    sha256: str = ""
    envelope: Envelope | None = None
    claim: Claim = Claim()


LinkOf = Callable[[Entry], Link]

_envelope = msgspec.json.Decoder(Envelope)


def link_of(entry: Entry) -> Link:
    """The link of a message; facts form no chain of their own."""
    leaf = leaf_hash(entry.stream, entry.subject, entry.message_id, entry.data)
    if entry.stream == FACTS:
        return Link(leaf=leaf, claim=claim_of(entry))
    try:
        envelope = _envelope.decode(entry.data)
    except (ValueError, RecursionError):
        envelope = None
    return Link(leaf=leaf, sha256=bytes_hash(entry.data), envelope=envelope, claim=claim_of(entry))


class Gaps:
    """Sequences behind `after` that are missing or not in order."""

    def __init__(self, stream: str, after: int) -> None:
        self.findings: list[AuditFinding] = []
        self._stream, self._last = stream, after

    def take(self, sequence: int) -> None:
        """The next message behind `after`."""
        last, self._last = self._last, sequence
        if sequence > last + 1:
            detail = f"{sequence - last - 1} message(s) are not there"
            self._add(last + 1, "missing", detail, upto=sequence - 1)
        elif sequence <= last:
            self._add(sequence, "reordered", f"comes behind sequence {last}")

    def _add(self, sequence: int, what: str, detail: str, upto: int = 0) -> None:
        self.findings.append(AuditFinding(stream=self._stream, sequence=sequence, upto=upto, what=what, detail=detail))


class Chain:
    """The chain of a partition, followed from its first message on."""

    def __init__(self) -> None:
        self._found: list[tuple[int, AuditFinding]] = []
        self._count = 0
        self._before: tuple[Entry, Link] | None = None

    def take(self, entry: Entry, link: Link) -> None:
        """The next message."""
        entry_before, link_before = self._before or (None, None)
        found = _step(entry, link, entry_before, link_before)
        if found:
            finding = AuditFinding(stream=entry.stream, sequence=entry.sequence, what=found[0], detail=found[1])
            self._found.append((self._count, finding))
        self._before, self._count = (entry, link), self._count + 1

    def findings(self, *, begin: int, recorded: int) -> list[AuditFinding]:
        """Where it breaks, from the message at index `begin` on.

        Of the first `recorded` messages it is known that they were stored as they are: a strange one is no news.
        """
        return [one for i, one in self._found if i >= begin and not (one.what == "unreadable" and i < recorded)]


class Rests(msgspec.Struct, frozen=True, kw_only=True):
    """How far a partition rests on each of its inputs, by which commit; and where its commits contradict themselves."""

    upto: dict[str, tuple[int, str]]
    findings: tuple[AuditFinding, ...] = ()


class Resting:
    """Gathers how far the commits of a partition rest on its inputs; those that an operator had skipped don't count."""

    def __init__(self, stream: str, skipped: Collection[int] = ()) -> None:
        self._stream, self._skipped = stream, skipped
        self._upto: dict[str, tuple[int, str]] = {}
        self._findings: list[AuditFinding] = []

    def take(self, entry: Entry, link: Link) -> None:
        """The next message."""
        for run in link.envelope.inputs if link.envelope and entry.sequence not in self._skipped else ():
            had = self._upto.get(run.stream, (0, ""))[0]
            if run.upto < had:
                detail = f"rests on {run.stream} up to {run.upto}, a commit before it up to {had}"
                self._findings.append(
                    AuditFinding(stream=self._stream, sequence=entry.sequence, what="inputs", detail=detail)
                )
            else:
                self._upto[run.stream] = (run.upto, f"{self._stream} {entry.sequence}")

    def result(self) -> Rests:
        """The result."""
        return Rests(upto=self._upto, findings=tuple(self._findings))


def missing_inputs(rests: Iterable[Rests], ends: Mapping[str, int]) -> list[AuditFinding]:
    """Messages that commits rest on and that are not there, of the streams whose end is known."""
    short: dict[str, tuple[int, str]] = {}
    for one in rests:
        for stream, (upto, by) in one.upto.items():
            if stream in ends and upto > max(ends[stream], short.get(stream, (0, ""))[0]):
                short[stream] = (upto, by)
    findings: list[AuditFinding] = []
    for stream, (upto, by) in sorted(short.items()):
        detail = f"{by} rests on {stream} up to {upto}, which ends at {ends[stream]}"
        findings.append(
            AuditFinding(stream=stream, sequence=ends[stream] + 1, upto=upto, what="missing", detail=detail)
        )
    return findings


def _step(entry: Entry, link: Link, before: Entry | None, link_before: Link | None) -> tuple[str, str] | None:
    if link.envelope is None:
        return "unreadable", "is no commit that this version can read"
    if entry.message_id and entry.message_id != link.envelope.id:
        return "changed", f"is stored as {entry.message_id} and names itself {link.envelope.id}"
    if _shift(entry, link) != (_shift(before, link_before) if before and link_before else 0):
        return "chain", f"was appended behind sequence {link.envelope.base}, and stands behind {entry.sequence - 1}"
    if before is not None and before.sequence != entry.sequence - 1:
        return None
    expected = link_before.sha256 if link_before else GENESIS
    if (before is not None or entry.sequence == 1) and link.envelope.prev_hash != expected:
        return "chain", f"names another message as its predecessor than stands at {entry.sequence - 1}"
    return None


def _shift(entry: Entry, link: Link) -> int:
    """By how much a commit stands elsewhere than it was appended; reported once, where it begins."""
    return entry.sequence - 1 - link.envelope.base if link.envelope else 0
