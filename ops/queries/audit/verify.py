"""The audit of a whole log: every message against what was recorded and signed, and the log against itself."""

from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice

from events.subjects import CONTROL, FACTS
from ops.production.archive.finding import AuditFinding, Covered, Report
from ops.production.archive.proof.evidence import Evidence, Statement, judge, statement_findings
from ops.production.archive.proof.leaves import Leaves
from ops.queries.audit.chain import LinkOf, Rests, link_of, missing_inputs
from ops.queries.audit.compare import differences
from ops.queries.audit.walk import Streams, Walk
from services.runtime.control_log import Control
from services.runtime.log_port import Entry

Ends = Callable[[], Mapping[str, int]]


class Auditor:
    """Evidence, judged once, against which logs are held."""

    def __init__(self, evidence: Evidence, pinned: Iterable[str] = (), *, link: LinkOf = link_of) -> None:
        self._pinned = tuple(pinned)
        self._judged = judge(evidence, self._pinned)
        self._link = link
        self._examined: dict[str, tuple[frozenset[int], list[AuditFinding], Rests]] = {}
        """By stream, what was skipped when it was last examined, and the outcome."""

    def examine(
        self, entries: Streams, statements: Sequence[Statement] = (), ends: Mapping[str, int] | Ends | None = None
    ) -> Report:
        """Everything that is wrong with a log, place by place. A stream is read once, and once more where it differs.

        `ends`: where the streams end, for a log that grew while it was read; a stream that is not in it may end anywhere.
        """
        streams = sorted({*entries, *self._judged.record})
        found = {stream: entries.get(stream, ()) for stream in streams}
        findings = list(self._judged.findings)
        rests: list[Rests] = []
        walks: dict[str, Walk] = {}
        control = Control(found.get(CONTROL, ()))
        for stream in streams:
            sizes = {one.heads[stream].sequence for one in statements if stream in one.heads}
            walks[stream], wrong, rest = self._stream(stream, found[stream], control, sizes)
            findings.extend(wrong)
            rests.extend([] if wrong else [rest])
        if ends is None:
            ends = {stream: walk.last for stream, walk in walks.items()}
        known_ends = ends if isinstance(ends, Mapping) else ends()
        wrong_streams = {one.stream for one in findings}
        findings.extend(one for one in missing_inputs(rests, known_ends) if one.stream not in wrong_streams)
        counts = {stream: walk.count for stream, walk in walks.items()}
        findings.extend(self._never_signed(counts))
        roots = {stream: walk.roots for stream, walk in walks.items()}
        for statement in statements:
            findings.extend(statement_findings(statement, counts, roots, self._pinned))
        places = {(one.stream, one.sequence) for one in findings}
        for walk in walks.values():
            findings.extend(one for one in walk.amiss if (one.stream, one.sequence) not in places)
        return Report(
            streams=tuple(self._covered(stream, counts[stream]) for stream in streams), findings=tuple(findings)
        )

    def _never_signed(self, counts: Mapping[str, int]) -> list[AuditFinding]:
        """Streams of which nothing was signed: who has named a key asks for more than that they do not contradict themselves."""
        detail = "no checkpoint of it is there: nobody whom you trust has signed any of its messages"
        return [
            AuditFinding(stream=stream, sequence=1, upto=count, what="checkpoint", detail=detail)
            for stream, count in counts.items()
            if self._pinned and count and stream not in self._judged.record
        ]

    def _stream(
        self, stream: str, entries: Iterable[Entry], control: Control, sizes: Collection[int]
    ) -> tuple[Walk, list[AuditFinding], Rests]:
        """A stream gone through, what is wrong with it, and what it rests on."""
        record, sound = self._judged.record.get(stream, Leaves()), stream in self._judged.sound
        skipped = frozenset(sequence for one, sequence in control.skipped if one == stream)
        head = self._judged.heads.get(stream)
        sizes = {*sizes, *([head.sequence] if head is not None and not sound else [])}
        before, wrong, rests = self._examined.get(stream, (None, [], Rests(upto={})))
        if before == skipped:
            # The same leaves are the same messages, which say the same of themselves.
            walk = Walk(stream, record, control, sizes=sizes, known=True)
            walk.go(entries, self._link)
            if walk.as_recorded and walk.count == len(record):
                return walk, list(wrong), rests
        walk = Walk(stream, record, control, sizes=sizes)
        walk.go(entries, self._link)
        findings = [] if walk.as_recorded else self._differences(stream, entries, walk.count, record)
        if stream in self._judged.record and not sound:
            findings = self._doubtful(stream, walk, findings)
        begin = len(record) if findings else 0
        if not findings:
            findings.extend(walk.gaps.findings)
        if stream == FACTS:
            return walk, findings, Rests(upto={})
        # Behind a message that is not the right one the chain breaks as well: that is no second place.
        reported = {place for one in findings for place in (one.sequence, one.sequence + 1)}
        behind = walk.chain.findings(begin=begin, recorded=len(record))
        findings.extend(one for one in behind if one.sequence not in reported)
        if findings:
            return walk, findings, Rests(upto={})
        rests = walk.resting.result()
        findings.extend(rests.findings)
        if walk.count == len(record) and sound:
            self._examined[stream] = (skipped, list(findings), rests)
        return walk, findings, rests

    def _differences(self, stream: str, entries: Iterable[Entry], count: int, record: Leaves) -> list[AuditFinding]:
        """Where a stream is not what was recorded: only then all its leaves have to be at hand."""
        sequences, leaves = array("q"), bytearray()
        for entry in islice(entries, count):
            sequences.append(entry.sequence)
            leaves += self._link(entry).leaf
        return differences(stream, sequences, Leaves(leaves), record)

    def _doubtful(self, stream: str, walk: Walk, findings: list[AuditFinding]) -> list[AuditFinding]:
        """The leaves beside a checkpoint are not those that were signed: then the log itself has to lead to the root."""
        head = self._judged.heads.get(stream)
        if head is None:
            return findings
        if walk.roots.get(head.sequence) != head.root:
            detail = (
                f"neither the log nor the record of leaves leads to the root that was signed at {head.sequence}; "
                "places are named by the record, which is not sure"
            )
            return [AuditFinding(stream=stream, sequence=head.sequence, what="checkpoint", detail=detail), *findings]
        detail = "the leaf that is kept beside the checkpoint was changed; the log itself is as it was signed"
        places = [one.sequence for one in findings] or [head.sequence]
        return [AuditFinding(stream=stream, sequence=place, what="record", detail=detail) for place in places]

    def _covered(self, stream: str, messages: int) -> Covered:
        head = self._judged.heads.get(stream)
        if head is None:
            return Covered(stream=stream, messages=messages)
        return Covered(
            stream=stream, messages=messages, signed=min(head.sequence, messages), key=head.key, root=head.root
        )
