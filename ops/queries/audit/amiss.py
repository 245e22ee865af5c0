"""What a message claims of its author and its time, and where that can't be so: the log holds it, and nobody folds it as it stands."""

import msgspec

from events.authors import why_not_commit, why_not_sighting
from events.codec import NotOurs, decode_commit, decode_sighting
from events.event import Millis
from events.subjects import FACTS
from ops.production.archive.finding import AUTHOR, TIME, AuditFinding
from services.runtime.control_log import Control
from services.runtime.log_port import Entry


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A function of the message alone."""

    at: Millis = 0
    why_not: str = ""
    """Why it does not count; empty when author, subject and events agree."""


def claim_of(entry: Entry) -> Claim:
    """What a message claims; nothing when this version can't read it."""
    try:
        if entry.stream == FACTS:
            sighting = decode_sighting(entry.data)
            return Claim(at=sighting.at, why_not=why_not_sighting(sighting, entry.subject))
        commit = decode_commit(entry.data)
        return Claim(at=commit.at, why_not=why_not_commit(commit, entry.stream, entry.subject))
    except NotOurs:
        return Claim()


def amiss_finding(entry: Entry, claim: Claim, control: Control) -> AuditFinding | None:
    """What is not its author's to say, or lies far ahead of the time at which the bus stored it."""
    if not (claim.why_not or entry.stored) or control.skips(entry):
        return None
    if claim.why_not:
        return AuditFinding(stream=entry.stream, sequence=entry.sequence, what=AUTHOR, detail=claim.why_not)
    latest = control.latest(entry.stored)
    if latest is None or claim.at <= latest:
        return None
    detail = f"its time is {claim.at - latest} ms later than any that the bus could have stored then"
    return AuditFinding(stream=entry.stream, sequence=entry.sequence, what=TIME, detail=detail)
