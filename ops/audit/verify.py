"""The audit of a whole log: every message against what was recorded and signed, and the log against itself."""

from collections.abc import Iterable, Mapping, Sequence

from events.subjects import CONTROL, FACTS
from ops.audit.amiss import amiss_findings
from ops.audit.chain import Link, LinkOf, Rests, chain_findings, gaps, link_of, missing_inputs, rests_of
from ops.audit.compare import differences
from ops.audit.evidence import Evidence, Statement, judge, prefix_agrees, statement_findings
from ops.audit.finding import Covered, Finding, Report
from services.control_log import Control
from services.log_port import Entry


class Auditor:
    """Evidence, judged once, against which logs are held."""

    def __init__(self, evidence: Evidence, pinned: Iterable[str] = (), *, link: LinkOf = link_of) -> None:
        self._pinned = tuple(pinned)
        self._judged = judge(evidence, self._pinned)
        self._link = link
        self._said: dict[str, tuple[frozenset[int], list[Finding], Rests]] = {}
        """By stream what was skipped when it was looked at, and what came out."""

    def examine(
        self,
        entries: Mapping[str, Sequence[Entry]],
        statements: Sequence[Statement] = (),
        ends: Mapping[str, int] | None = None,
    ) -> Report:
        """Everything that is wrong with a log, place by place.

        `ends`: where the streams end, for a log that grew while it was read; a stream that is not in it may end anywhere.
        """
        streams = sorted({*entries, *self._judged.record})
        found = {stream: entries.get(stream, ()) for stream in streams}
        links = {stream: [self._link(entry) for entry in found[stream]] for stream in streams}
        findings = list(self._judged.findings)
        rests: list[Rests] = []
        control = Control(found.get(CONTROL, ()))
        for stream in streams:
            skipped = frozenset(sequence for one, sequence in control.skipped if one == stream)
            wrong, said = self._stream(stream, found[stream], links[stream], skipped)
            findings.extend(wrong)
            rests.extend([] if wrong else [said])
        if ends is None:
            ends = {stream: there[-1].sequence if there else 0 for stream, there in found.items()}
        wrong_streams = {one.stream for one in findings}
        findings.extend(one for one in missing_inputs(rests, ends) if one.stream not in wrong_streams)
        for statement in statements:
            leaves = {stream: [link.leaf for link in links[stream]] for stream in streams}
            findings.extend(statement_findings(statement, leaves, self._pinned))
        places = {(one.stream, one.sequence) for one in findings}
        for stream in streams:
            amiss = amiss_findings(found[stream], [link.claim for link in links[stream]], control)
            findings.extend(one for one in amiss if (one.stream, one.sequence) not in places)
        return Report(
            streams=tuple(self._covered(stream, len(found[stream])) for stream in streams), findings=tuple(findings)
        )

    def _stream(
        self, stream: str, entries: Sequence[Entry], links: Sequence[Link], skipped: frozenset[int]
    ) -> tuple[list[Finding], Rests]:
        """What is wrong with a stream, and what it rests on."""
        sequences = [entry.sequence for entry in entries]
        record = self._judged.record.get(stream, [])
        findings = _against(stream, sequences, links, record)
        if not findings and stream in self._said and len(entries) == len(record):
            # The same leaves are the same messages, which say the same of themselves.
            known, wrong, said = self._said[stream]
            if known == skipped:
                return list(wrong), said
        if stream in self._judged.record and stream not in self._judged.sound:
            findings = self._doubtful(stream, links, findings)
        begin = len(record) if findings else 0
        if not findings:
            findings.extend(gaps(stream, sequences[len(record) :], len(record)))
        if stream == FACTS:
            return findings, Rests(upto={})
        # Behind a message that is not the right one the chain breaks as well: that is no second place.
        told = {one.sequence for one in findings} | {one.sequence + 1 for one in findings}
        behind = chain_findings(stream, entries, links, begin=begin, recorded=len(record))
        findings.extend(one for one in behind if one.sequence not in told)
        if findings:
            return findings, Rests(upto={})
        said = rests_of(stream, entries, links, skipped)
        findings.extend(said.findings)
        if len(entries) == len(record) and stream in self._judged.sound:
            self._said[stream] = (skipped, list(findings), said)
        return findings, said

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
