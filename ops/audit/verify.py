"""The audit of a whole log: every message against what was recorded and signed, and the log against itself."""

from collections.abc import Iterable, Mapping, Sequence

from events.subjects import FACTS
from ops.audit.chain import Link, LinkOf, chain_findings, gaps, input_findings, link_of
from ops.audit.compare import differences
from ops.audit.evidence import Evidence, Statement, judge, prefix_agrees, statement_findings
from ops.audit.finding import Covered, Finding, Report
from services.log_port import Entry


class Auditor:
    """Evidence, judged once, against which logs are held."""

    def __init__(self, evidence: Evidence, pinned: Iterable[str] = (), *, link: LinkOf = link_of) -> None:
        self._pinned = tuple(pinned)
        self._judged = judge(evidence, self._pinned)
        self._link = link

    def examine(self, entries: Mapping[str, Sequence[Entry]], statements: Sequence[Statement] = ()) -> Report:
        """Everything that is wrong with a log, place by place."""
        streams = sorted({*entries, *self._judged.record})
        found = {stream: entries.get(stream, ()) for stream in streams}
        links = {stream: [self._link(entry) for entry in found[stream]] for stream in streams}
        findings = list(self._judged.findings)
        for stream in streams:
            findings.extend(self._stream(stream, found[stream], links[stream]))
        # What a lane that was tampered with says of its inputs is no evidence against them.
        wrong = {one.stream for one in findings}
        sayings = {stream: said for stream, said in links.items() if stream not in wrong}
        findings.extend(one for one in input_findings(sayings, found) if one.stream not in wrong)
        for statement in statements:
            leaves = {stream: [link.leaf for link in links[stream]] for stream in streams}
            findings.extend(statement_findings(statement, leaves, self._pinned))
        return Report(
            streams=tuple(self._covered(stream, len(found[stream])) for stream in streams), findings=tuple(findings)
        )

    def _stream(self, stream: str, entries: Sequence[Entry], links: Sequence[Link]) -> list[Finding]:
        sequences = [entry.sequence for entry in entries]
        record = self._judged.record.get(stream, [])
        findings = _against(stream, sequences, links, record)
        if stream in self._judged.record and stream not in self._judged.sound:
            findings = self._doubtful(stream, links, findings)
        begin = len(record) if findings else 0
        if not findings:
            findings.extend(gaps(stream, sequences[len(record) :], len(record)))
        if stream != FACTS:
            findings.extend(chain_findings(stream, entries, links, begin=begin, recorded=len(record)))
        return findings

    def _doubtful(self, stream: str, links: Sequence[Link], findings: list[Finding]) -> list[Finding]:
        """The leaves beside a checkpoint are not those that were signed: then the log itself has to lead to the root."""
        head = self._judged.heads.get(stream)
        if head is None:
            return findings
        if not prefix_agrees([link.leaf for link in links], head):
            detail = (
                f"neither the log nor the record of leaves leads to the root that was signed at {head.sequence}; "
                "places are named by the record, which is not sure"
            )
            return [Finding(stream=stream, sequence=head.sequence, what="checkpoint", detail=detail), *findings]
        detail = "the leaf that is kept beside the checkpoint was changed; the log itself is as it was signed"
        places = [one.sequence for one in findings] or [head.sequence]
        return [Finding(stream=stream, sequence=place, what="record", detail=detail) for place in places]

    def _covered(self, stream: str, messages: int) -> Covered:
        head = self._judged.heads.get(stream)
        if head is None:
            return Covered(stream=stream, messages=messages)
        return Covered(
            stream=stream, messages=messages, signed=min(head.sequence, messages), key=head.key, root=head.root
        )


def _against(stream: str, sequences: Sequence[int], links: Sequence[Link], record: list[bytes]) -> list[Finding]:
    """Hold a stream against its record."""
    leaves = [link.leaf for link in links]
    if leaves[: len(record)] == record and list(sequences[: len(record)]) == list(range(1, len(record) + 1)):
        return []
    return differences(stream, sequences, leaves, record)
