"""What the manager's log cites of the logs of worker clusters, held against those logs: each commit is there, with that hash.

Rule: docs/rules/multikueue.md#cited
"""

from collections.abc import Iterable, Mapping

import msgspec

from events.citation import CitedCommit
from events.codec import NotOurs, decode_commit, decode_sighting
from events.hash_chain import bytes_hash
from events.multikueue import ClusterChosen, RemoteWorkloadObserved
from events.subjects import FACTS, LOG, family_of
from ops.production.archive.finding import AuditFinding
from ops.queries.audit.walk import Streams
from services.runtime.log_port import Entry

_NAMES = (b"RemoteWorkloadObserved.v1", b"ClusterChosen.v1")
CITED = "cited"


class Citation(msgspec.Struct, frozen=True):
    """A commit of a worker's log, and the message of the manager's log that cites it."""

    cluster: str
    commit: CitedCommit
    by: str


def citations_in(entries: Streams) -> list[Citation]:
    """What a log cites, each once, with the first message that does; what can't be read is found by others."""
    found: dict[tuple[str, CitedCommit], Citation] = {}
    for stream, stored in sorted(entries.items()):
        if family_of(stream) not in (FACTS, LOG):
            continue
        for entry in stored:
            for cluster, commit in _cited_by(entry):
                place = f"{stream} {entry.sequence}"
                found.setdefault((cluster, commit), Citation(cluster, commit, place))
    return list(found.values())


def _cited_by(entry: Entry) -> list[tuple[str, CitedCommit]]:
    if not any(name in entry.data for name in _NAMES):
        return []
    try:
        events = (
            (decode_sighting(entry.data).fact,)
            if family_of(entry.stream) == FACTS
            else decode_commit(entry.data).events
        )
    except (NotOurs, ValueError, RecursionError):
        return []
    return [
        (one.cluster, one.cited)
        for one in events
        if isinstance(one, RemoteWorkloadObserved | ClusterChosen) and one.cited is not None
    ]


def held_against(citations: Iterable[Citation], workers: Mapping[str, Streams]) -> tuple[list[AuditFinding], list[str]]:
    """What is cited and is not so on the log of its cluster, and by cluster what was found in words."""
    by_cluster: dict[str, list[Citation]] = {name: [] for name in workers}
    for one in citations:
        by_cluster.setdefault(one.cluster, []).append(one)
    findings: list[AuditFinding] = []
    said: list[str] = []
    for name, cited in sorted(by_cluster.items()):
        if name not in workers:
            said.append(f"{_count(cited)} of {name} cited, whose log was not asked: name it with --worker {name}=PLACE")
            continue
        wrong = _of_cluster(name, cited, workers[name])
        findings.extend(wrong)
        if not wrong:
            said.append(f"{_count(cited)} of {name} cited, all there with that hash")
    return findings, said


def _count(cited: list[Citation]) -> str:
    return "1 commit" if len(cited) == 1 else f"{len(cited)} commits"


def _of_cluster(name: str, cited: list[Citation], log: Streams) -> list[AuditFinding]:
    found: dict[tuple[str, int], str] = {}
    wanted = {(one.commit.stream, one.commit.sequence) for one in cited}
    for stream in sorted({stream for stream, _ in wanted} & log.keys()):
        for entry in log[stream]:
            if (stream, entry.sequence) in wanted:
                found[stream, entry.sequence] = bytes_hash(entry.data)
    findings: list[AuditFinding] = []
    for one in cited:
        sha256 = found.get((one.commit.stream, one.commit.sequence))
        if sha256 == one.commit.sha256:
            continue
        there = f"has {sha256}" if sha256 is not None else "is not there"
        detail = f"{one.by} cites it with hash {one.commit.sha256}; it {there}"
        findings.append(
            AuditFinding(stream=f"{name}/{one.commit.stream}", sequence=one.commit.sequence, what=CITED, detail=detail)
        )
    return findings
