"""What happened to a stream, from the leaves it should have and those it has: changed, missing, added, reordered."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from ops.production.archive.finding import AuditFinding

Pair = tuple[int, int]
"""A message in its place: its index among those found, and in the record."""


def differences(
    stream: str, sequences: Sequence[int], found: Sequence[bytes], record: Sequence[bytes]
) -> list[AuditFinding]:
    """Hold the messages that are there (their sequences and leaves) against the record (leaf of sequence 1, 2, …)."""
    head, end = _common(found, record)
    inner = _in_order(found[head : len(found) - end], record[head : len(record) - end])
    pairs = [(head + i, head + j) for i, j in inner]
    findings = _between(stream, sequences, found, record, pairs, head, end)
    if not findings:
        findings = _renumbered(stream, sequences, len(record))
    return findings


def _common(found: Sequence[bytes], record: Sequence[bytes]) -> Pair:
    """How many leaves are the same at the beginning and, behind those, at the end."""
    shorter = min(len(found), len(record))
    head = 0
    while head < shorter and found[head] == record[head]:
        head += 1
    end = 0
    while end < shorter - head and found[-1 - end] == record[-1 - end]:
        end += 1
    return head, end


def _in_order(found: Sequence[bytes], record: Sequence[bytes]) -> list[Pair]:
    """The largest set of messages that are in both, in the same order: a longest increasing run."""
    places = {leaf: j for j, leaf in reversed(list(enumerate(record)))}
    tails: list[int] = []
    at: list[Pair] = []
    before: list[int] = []
    ends: list[int] = []
    for i, leaf in enumerate(found):
        j = places.get(leaf)
        if j is None:
            continue
        length = bisect_left(tails, j)
        at.append((i, j))
        before.append(ends[length - 1] if length else -1)
        if length == len(tails):
            tails.append(j)
            ends.append(len(at) - 1)
        else:
            tails[length], ends[length] = j, len(at) - 1
    chosen: list[Pair] = []
    step = ends[-1] if ends else -1
    while step >= 0:
        chosen.append(at[step])
        step = before[step]
    return chosen[::-1]


def _between(
    stream: str,
    sequences: Sequence[int],
    found: Sequence[bytes],
    record: Sequence[bytes],
    pairs: Sequence[Pair],
    head: int,
    end: int,
) -> list[AuditFinding]:
    """Name what lies between the messages that are in their place."""
    findings: list[AuditFinding] = []
    unsure, missed = set(found[head : len(found) - end]), set(record[head : len(record) - end])
    known: dict[bytes, int] = {}
    for j, leaf in enumerate(record):
        if leaf in unsure:
            known.setdefault(leaf, j)
    times = Counter(leaf for leaf in found if leaf in unsure)
    there = {leaf for leaf in found if leaf in missed}
    i, j = head, head
    for next_i, next_j in [*pairs, (len(found) - end, len(record) - end)]:
        strange = list(range(i, next_i))
        gone = list(range(j, next_j))
        moved = [k for k in strange if found[k] in known]
        for k in moved:
            detail = f"holds the message that was at sequence {known[found[k]] + 1}"
            what = "reordered" if times[found[k]] == 1 else "added"
            findings.append(AuditFinding(stream=stream, sequence=sequences[k], what=what, detail=detail))
        unknown = [k for k in strange if found[k] not in known]
        lost = [k for k in gone if record[k] not in there]
        for k, _ in zip(unknown, lost, strict=False):
            detail = "is not the message that was recorded here"
            findings.append(AuditFinding(stream=stream, sequence=sequences[k], what="changed", detail=detail))
        # Behind the end of the record there is nothing that a message could contradict: it is only newer.
        newer = not end and next_i == len(found)
        for k in unknown[len(lost) :] if not newer else ():
            detail = "is a message that was never recorded"
            findings.append(AuditFinding(stream=stream, sequence=sequences[k], what="added", detail=detail))
        findings.extend(_missing(stream, [k + 1 for k in lost[len(unknown) :]]))
        i, j = next_i + 1, next_j + 1
    return findings


def _missing(stream: str, gone: Sequence[int]) -> list[AuditFinding]:
    """Messages that are gone, as runs."""
    findings: list[AuditFinding] = []
    begin = 0
    for k in range(1, len(gone) + 1):
        if k == len(gone) or gone[k] != gone[k - 1] + 1:
            first, last = gone[begin], gone[k - 1]
            detail = f"{last - first + 1} message(s) that were recorded are not there"
            findings.append(AuditFinding(stream=stream, sequence=first, upto=last, what="missing", detail=detail))
            begin = k
    return findings


def _renumbered(stream: str, sequences: Sequence[int], size: int) -> list[AuditFinding]:
    """Every message in its order, but one under a number that is not its own."""
    for place, sequence in enumerate(sequences[:size], start=1):
        if sequence != place:
            detail = f"is numbered {sequence}, it was {place}"
            return [AuditFinding(stream=stream, sequence=place, what="renumbered", detail=detail)]
    return []
