"""What a stream says about itself: each commit names the one before it, and how much of its inputs it had folded."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from events.commit import GENESIS, InputRun, bytes_hash
from events.merkle import leaf_hash
from events.subjects import FACTS
from ops.audit.amiss import Claim, claim_of
from ops.audit.finding import Finding
from services.log_port import Entry


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


def gaps(stream: str, sequences: Sequence[int], after: int = 0) -> list[Finding]:
    """Sequences that are not there, or there twice, behind `after`."""
    findings: list[Finding] = []
    last = after
    for sequence in sequences:
        if sequence > last + 1:
            detail = f"{sequence - last - 1} message(s) are not there"
            findings.append(Finding(stream=stream, sequence=last + 1, upto=sequence - 1, what="missing", detail=detail))
        elif sequence <= last:
            detail = f"comes behind sequence {last}"
            findings.append(Finding(stream=stream, sequence=sequence, what="reordered", detail=detail))
        last = sequence
    return findings


def chain_findings(
    stream: str, entries: Sequence[Entry], links: Sequence[Link], *, begin: int = 0, recorded: int = 0
) -> list[Finding]:
    """Follow the chain of a lane from the message at index `begin` on.

    Of the first `recorded` messages it is known that they were stored as they are: a strange one is no news.
    """
    findings: list[Finding] = []
    for i in range(begin, len(entries)):
        entry, link = entries[i], links[i]
        found = _step(entry, link, entries[i - 1] if i else None, links[i - 1] if i else None)
        if found and not (found[0] == "unreadable" and i < recorded):
            findings.append(Finding(stream=stream, sequence=entry.sequence, what=found[0], detail=found[1]))
    return findings


class Rests(msgspec.Struct, frozen=True, kw_only=True):
    """On how much of each input a lane rests, by which commit; and where it contradicts itself about that."""

    upto: dict[str, tuple[int, str]]
    findings: tuple[Finding, ...] = ()


def rests_of(stream: str, entries: Sequence[Entry], links: Sequence[Link], skipped: Collection[int] = ()) -> Rests:
    """What the commits of a lane say of their inputs; those that an operator had skipped are not asked."""
    upto: dict[str, tuple[int, str]] = {}
    findings: list[Finding] = []
    for entry, link in zip(entries, links, strict=True):
        for run in link.envelope.inputs if link.envelope and entry.sequence not in skipped else ():
            had = upto.get(run.stream, (0, ""))[0]
            if run.upto < had:
                detail = f"rests on {run.stream} up to {run.upto}, a commit before it up to {had}"
                findings.append(Finding(stream=stream, sequence=entry.sequence, what="inputs", detail=detail))
            else:
                upto[run.stream] = (run.upto, f"{stream} {entry.sequence}")
    return Rests(upto=upto, findings=tuple(findings))


def missing_inputs(rests: Iterable[Rests], ends: Mapping[str, int]) -> list[Finding]:
    """Messages that commits rest on and that are not there, of the streams whose end is known."""
    short: dict[str, tuple[int, str]] = {}
    for one in rests:
        for stream, (upto, by) in one.upto.items():
            if stream in ends and upto > max(ends[stream], short.get(stream, (0, ""))[0]):
                short[stream] = (upto, by)
    findings: list[Finding] = []
    for stream, (upto, by) in sorted(short.items()):
        detail = f"{by} rests on {stream} up to {upto}, which ends at {ends[stream]}"
        findings.append(Finding(stream=stream, sequence=ends[stream] + 1, upto=upto, what="missing", detail=detail))
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
    """By how much a commit stands elsewhere than it was appended; told once, where it begins."""
    return entry.sequence - 1 - link.envelope.base if link.envelope else 0
