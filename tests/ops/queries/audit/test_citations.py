"""What the manager's log cites of a worker's is held against that log: each commit is there, with that hash.

Rule: docs/rules/multikueue.md#cited
"""

from msgspec.structs import replace

from events.citation import CitedCommit
from events.codec import encode
from events.commit import Sighting
from events.hash_chain import bytes_hash
from events.multikueue import RemoteWorkloadObserved
from events.subjects import FACTS
from ops.production.archive.finding import AuditFinding
from ops.production.log.streams import PARTITION
from ops.queries.audit.citations import citations_in, held_against
from services.runtime.log_port import Entry
from tests.ops.queries.audit.logs import Log, log_of


def citing(worker: Log, *sequences: int, cluster: str = "w1") -> Log:
    """The manager's facts, each of which cites a commit of a worker's log."""
    facts: list[Entry] = []
    for sequence in sequences:
        stored = worker[PARTITION][sequence - 1]
        cited = CitedCommit(stream=PARTITION, sequence=sequence, sha256=bytes_hash(stored.data))
        fact = RemoteWorkloadObserved(cluster=cluster, workload="team/a", uid="u", cited=cited)
        sighting = Sighting(id=str(len(facts)), at=1, author="remote-clusters", fact=fact)
        facts.append(Entry(stream=FACTS, sequence=len(facts) + 1, subject="", message_id="", data=encode(sighting)))
    return {FACTS: facts}


def test_what_is_cited_and_there_is_said_to_be_there() -> None:
    worker = log_of(5)
    manager = citing(worker, 3, 5, 3)
    assert held_against(citations_in(manager), {"w1": worker}) == (
        [],
        ["2 commits of w1 cited, all there with that hash"],
    )


def test_a_commit_that_was_changed_since_it_was_cited_is_named_with_its_place_on_both_logs() -> None:
    worker = log_of(5)
    manager = citing(worker, 2, 3)
    was = bytes_hash(worker[PARTITION][2].data)
    worker[PARTITION][2] = replace(worker[PARTITION][2], data=worker[PARTITION][2].data + b" ")
    now = bytes_hash(worker[PARTITION][2].data)
    findings, said = held_against(citations_in(manager), {"w1": worker})
    detail = f"FACTS 2 cites it with hash {was}; it has {now}"
    assert findings == [AuditFinding(stream=f"w1/{PARTITION}", sequence=3, what="cited", detail=detail)]
    assert findings[0].is_change and not said


def test_a_commit_that_is_not_there_any_more_is_named() -> None:
    worker = log_of(5)
    manager = citing(worker, 5)
    del worker[PARTITION][4:]
    (finding,), _ = held_against(citations_in(manager), {"w1": worker})
    assert (finding.sequence, finding.detail.endswith("is not there")) == (5, True)


def test_a_cluster_whose_log_is_not_named_is_said_to_be_unasked_and_one_of_which_nothing_is_cited_too() -> None:
    worker = log_of(2)
    found = held_against(citations_in(citing(worker, 1)), {"w2": worker})
    assert found == (
        [],
        [
            "1 commit of w1 cited, whose log was not asked: name it with --worker w1=PLACE",
            "0 commits of w2 cited, all there with that hash",
        ],
    )
