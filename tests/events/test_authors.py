"""Subject, author and events of a message agree, or it does not count."""

from typing import get_args

import msgspec
import pytest

from events.admission import TopologyAssigned
from events.authors import AUTHORS, why_not_commit, why_not_sighting
from events.catalogue import Fact, all_events
from events.commit import Sighting
from events.control import EpochStarted
from events.quota import ClusterQueueObserved, NamespaceObserved
from events.setting_aside import SetAside
from events.subjects import CONTROL, commit_subject, fact_subject
from events.workload import WorkloadQueued
from tests.events.test_codec import make_commit, sample

DECIDERS = {"queue-manager", "admitter", "preemptor", "multikueue", "accountant"}
SHARED = {
    SetAside: DECIDERS,
    EpochStarted: {*DECIDERS, "operator"},
    TopologyAssigned: {"admitter", "queue-manager"},
}


def test_every_event_has_one_author_but_what_any_decider_says_and_where_pods_lie() -> None:
    for kind in all_events():
        authors = {one.name for one in AUTHORS.values() if kind in one.says}
        assert authors == SHARED[kind] if kind in SHARED else len(authors) == 1, kind


@pytest.mark.parametrize("kind", get_args(Fact), ids=lambda kind: kind.__name__)
def test_a_fact_counts_under_its_own_kind_and_author_only(kind: type) -> None:
    author = next(one.name for one in AUTHORS.values() if kind in one.says)
    sighting = Sighting(id="i", at=1, author=author, fact=sample(kind))
    assert not why_not_sighting(sighting, fact_subject("tree", kind.__name__))
    other = "applier" if author == "watcher" else "watcher"
    assert "may not say" in why_not_sighting(
        msgspec.structs.replace(sighting, author=other), fact_subject("tree", kind.__name__)
    )


def test_a_fact_under_anothers_subject_does_not_count() -> None:
    sighting = Sighting(id="i", at=1, author="watcher", fact=NamespaceObserved(name="n"))
    for subject in (
        fact_subject("", "DecisionApplied"),
        "kuelog.facts.a.b.NamespaceObserved",
        "kuelog.facts.NamespaceObserved",
        "kuelog.log.0.NamespaceObserved",
    ):
        assert "not the subject of such facts" in why_not_sighting(sighting, subject)
    unknown = msgspec.structs.replace(sighting, author="nobody")
    assert "there is no such author" in why_not_sighting(unknown, fact_subject("", "NamespaceObserved"))


def test_a_commit_counts_on_its_partition_under_its_authors_subject_with_its_authors_events() -> None:
    commit = make_commit(WorkloadQueued(workload="a/b", cluster_queue="c"))
    subject = commit_subject("LOG_0", "queue-manager")
    assert not why_not_commit(commit, "LOG_0", subject)
    assert "commit of LOG_0" in why_not_commit(commit, "DEVICES_default", subject)
    assert "not its subject" in why_not_commit(commit, "LOG_0", commit_subject("LOG_0", "admitter"))
    foreign = msgspec.structs.replace(commit, author="admitter")
    assert "admitter may not say WorkloadQueued" in why_not_commit(
        foreign, "LOG_0", commit_subject("LOG_0", "admitter")
    )
    stray = msgspec.structs.replace(commit, author="accountant")
    assert "nothing on a stream of LOG" in why_not_commit(stray, "LOG_0", commit_subject("LOG_0", "accountant"))


def test_operators_speak_on_control_as_they_always_did() -> None:
    commit = msgspec.structs.replace(make_commit(), partition=CONTROL, author="operator")
    for subject in ("kuelog.control.operator", "kuelog.control._.operator"):
        assert not why_not_commit(commit, CONTROL, subject)
    assert why_not_commit(commit, CONTROL, "kuelog.control.watcher")


def test_quota_is_not_said_by_who_applies() -> None:
    fact = sample(ClusterQueueObserved)
    for author in ("applier", "watcher"):
        sighting = Sighting(id="i", at=1, author=author, fact=fact)
        assert why_not_sighting(sighting, fact_subject("", "DecisionApplied"))
