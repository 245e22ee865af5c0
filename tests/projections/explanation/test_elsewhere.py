"""What is said about workloads that are tried, or run, in other clusters."""

from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.event import Millis
from events.multikueue import (
    QuotaAutomationEnded,
    QuotaAutomationSettled,
    RemoteCondition,
    RemoteJobRefused,
    RemoteQueue,
    RemoteQueuesObserved,
    RemoteWorkloadGone,
    RemoteWorkloadObserved,
)
from events.workload import WorkloadFinished
from ops.queries.explaining import explain
from projections.explanation.elsewhere import answer
from projections.explanation.life import Life
from projections.explanation.words import Explanation, Tier
from projections.log_position import LogPosition
from projections.state_hash import state_hash
from tests.services.multikueue.test_rules import KEY, LOST_AFTER, Manager, cluster, delegated, kinds, running
from tests.services.multikueue.test_slices import Growing

_START = "1970-01-01T00:00:"


def told(manager: Manager) -> Explanation:
    before = state_hash(manager.world)
    found = explain(manager.world, manager.world.workloads[KEY], manager.at)
    assert state_hash(manager.world) == before, "nothing is changed by asking"
    return found


def copy(**since: Millis) -> RemoteWorkloadObserved:
    conditions = {kind: RemoteCondition(since=at, reason="Why", message="so") for kind, at in since.items()}
    return RemoteWorkloadObserved(cluster="w1", workload=KEY, uid="copy", conditions=conditions)


def test_who_is_tried_in_clusters_is_told_what_each_of_them_answers() -> None:
    manager = Manager()
    manager.after(delegated())
    assert told(manager).clusters == ("cluster w1: no copy seen there yet", "cluster w2: no copy seen there yet")
    manager.copy("w1", QuotaReserved=1_000)
    manager.copy("w2", counts=2)
    found = told(manager)
    assert (found.tier, found.reason) == (Tier.CHECK, "WaitingForChecks")
    assert found.clusters == (
        f"cluster w1: holds quota since {_START}01Z",
        "cluster w2: its copy asks for something else; waits for quota",
    )


def test_who_is_sent_nowhere_is_told_of_no_cluster() -> None:
    manager = Manager()
    manager.after(delegated(kind="Nobody's"))
    assert told(manager).clusters == ()


def test_where_a_workload_runs_is_told_with_the_decision_that_chose_it() -> None:
    manager = Manager()
    manager.after(delegated())
    assert kinds(manager.copy("w2", QuotaReserved=1_000, Admitted=5_000)) == ["ClusterChosen"]
    decision = manager.world.dispatches[KEY].decision
    why = f"cluster w2 was chosen at {decision}, as it admitted its copy first"
    assert told(manager).message == f"{why}; its job is not there: not made yet"
    refusal = RemoteJobRefused(workload=KEY, cluster="w2", decision=decision, message="it is somebody's")
    manager.after(refusal)
    assert told(manager).message == f"{why}; its job is not there: it is somebody's"
    manager.synced()
    found = told(manager)
    assert (found.state, found.message) == ("admitted", f"{why}; its job is there")
    assert found.clusters == (f"cluster w2: admitted since {_START}05Z",)


def test_where_a_workload_has_run_is_told_when_it_has_ended_and_its_copy_is_gone() -> None:
    manager = Manager()
    manager.after(delegated())
    manager.copy("w2", QuotaReserved=1_000, Admitted=5_000)
    decision = manager.world.dispatches[KEY].decision
    manager.synced()
    manager.after(WorkloadFinished(workload=KEY, reason="Succeeded", message="done"))
    manager.after(RemoteWorkloadGone(cluster="w2", workload=KEY))
    found = told(manager)
    assert (found.state, found.clusters) == ("finished", ())
    assert found.message == f"it ran in cluster w2, which was chosen at {decision}, as it admitted its copy first"


def test_a_cluster_out_of_reach_is_told_with_the_moment_at_which_it_is_given_up() -> None:
    manager = running()
    manager.after(cluster("w1", active=False, since=2_000))
    assert manager.world.settings.multikueue is not None
    assert manager.world.settings.multikueue.worker_lost_timeout == LOST_AFTER
    assert told(manager).clusters == (f"cluster w1: out of reach since {_START}02Z, given up at 1970-01-01T00:15:02Z",)


def test_of_several_conditions_of_a_copy_the_last_in_its_life_is_told_and_why_it_had_to_stop() -> None:
    assert answer(copy(QuotaReserved=1_000, Admitted=2_000)) == f"admitted since {_START}02Z"
    assert answer(copy(Admitted=2_000, Evicted=3_000)) == f"evicted since {_START}03Z (Why: so)"
    assert answer(copy(Evicted=3_000, Finished=4_000)) == f"finished since {_START}04Z (Why: so)"
    stopped = RemoteWorkloadObserved(cluster="w1", workload=KEY, uid="copy", active=False)
    assert answer(stopped) == "stopped from here"


def test_the_life_of_a_job_and_of_a_cluster_has_what_each_cluster_answered() -> None:
    manager = Manager()
    said: list[AnyEvent] = [
        *manager.after(delegated()),
        copy(Admitted=2_000),
        *manager.copy("w1", Admitted=2_000),
        *manager.synced(),
        RemoteWorkloadGone(cluster="w2", workload=KEY),
    ]
    chosen, gone = ("cluster chosen", "w1: admitted its copy first"), ("cluster answers", "w2: has no copy any more")
    answers = ("cluster answers", f"w1: admitted since {_START}02Z")
    life = [
        one for one in _life(f"workload/{KEY}", said) if "cluster" in one[0] or one[0] in ("sent to", "check settled")
    ]
    ready = ("check settled", 'mk is Ready: The workload was admitted on "w1"')
    assert life == [("sent to", "w1, w2"), answers, chosen, ready, gone]
    assert _life("multikueuecluster/w2", said) == [("sent to", "w1, w2"), gone]
    assert _life("multikueuecluster/w1", said) == [("sent to", "w1, w2"), answers, chosen]


def test_the_life_of_a_queue_says_what_its_quota_follows_with_what_was_told_before_and_why_it_follows_nobody() -> None:
    there = RemoteQueue(name="there", local_queues=("team/lq",), nominal={"cpu": 1_500, "memory": 1 << 30})
    told = RemoteQueuesObserved(cluster="w1", queues=(there,))
    counted = {"w1": {"cpu": 1_500}}
    follows = QuotaAutomationSettled(
        cluster_queue="cq", reason="QuotaAutomated", message="", nominal={"cpu": 1_500}, by_cluster=counted
    )
    refused = QuotaAutomationSettled(cluster_queue="cq", reason="NotRequested", message="It was not.")
    said: list[AnyEvent] = [told, follows, refused, QuotaAutomationEnded(cluster_queue="cq")]
    followed = ("quota follows", "cpu=1500m: w1 cpu=1500m")
    ended = ("quota follows nobody", "")
    assert _life("clusterqueue/cq", said) == [followed, ("quota does not follow", "NotRequested: It was not."), ended]
    assert _life("multikueuecluster/w1", said) == [("quota told", "w1: there cpu=1500m memory=1Gi"), followed]
    life = Life("clusterqueue/cq")
    life.fold(told, LogPosition(partition="FACTS", sequence=7, at=1))
    life.fold(follows, LogPosition(partition="LOG_0", sequence=2, at=2))
    assert [one.cause for one in life.lines] == ["FACTS/7 RemoteQueuesObserved"]


def test_the_life_of_a_cluster_says_when_it_was_connected_and_lost_and_by_what_it_is_reached() -> None:
    by_profile = replace(cluster("w1", active=False, since=3_000), profile="west", location="")
    said: list[AnyEvent] = [
        replace(cluster("w1", active=False, since=0), location="s"),
        cluster("w1", since=2_000),
        by_profile,
    ]
    assert _life("multikueuecluster/w1", said) == [
        ("not connected", "by Secret s"),
        ("connected", f"by Secret w1 since {_START}02Z"),
        ("not connected", f"by ClusterProfile west since {_START}03Z"),
    ]


def _life(wanted: str, events: list[AnyEvent]) -> list[tuple[str, str]]:
    life = Life(wanted)
    for sequence, event in enumerate(events, 1):
        life.fold(event, LogPosition(partition="0", sequence=sequence, at=sequence))
    return [(one.what, one.detail) for one in life.lines]


def test_a_slice_that_goes_on_where_the_one_before_runs_is_told_so() -> None:
    manager = Growing()
    grown = manager.grown()
    manager.copied(grown, "w1", 4)
    found = explain(manager.world, manager.world.workloads[grown], manager.at)
    how = f"cluster w1 has its job, by the copy of the slice before, {KEY}; this one is tried there and nowhere else"
    assert found.message == how and found.clusters == ("cluster w1: waits for quota",)
    manager.size(3)
    found = explain(manager.world, manager.world.workloads[grown], manager.at)
    assert found.clusters == ("cluster w1: waits for quota; its copy is about to get the size and the priority of now",)
