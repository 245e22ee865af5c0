"""Explanations are right: what is said to let a workload in lets it in, and who may not read a name does not."""

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from events.application import DecisionApplied, DecisionRejected
from events.catalogue import Fact
from events.claims import CountedRequest, PodClaims
from events.control import ObjectProblem, ObjectRefused, ObjectRemoved
from events.device import NodeLockObserved, PodObserved
from events.pod_set import PodSet
from events.quota import (
    ClusterQueueObserved,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    NamespaceObserved,
    QueueingStrategy,
    Quota,
    ResourceGroup,
    StopPolicy,
)
from events.selector import LabelSelector
from events.settings import SettingsObserved
from events.workload import (
    GateState,
    PreemptionGateReported,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadSpec,
    WorkloadSubmitted,
)
from ops.production.log.streams import SOLE
from ops.production.trial import tried
from ops.queries.answers import explained
from ops.queries.explaining import TIME_IS_OVER, explain, find_workload, stops, unblocking, world_at
from ops.queries.near_words import near_rows
from ops.queries.patience import Patience
from ops.queries.point import NotOnTheLog, point_at
from ops.sandbox.bench.day import played, small_day
from projections.explanation.fixes import UNWRITTEN
from projections.explanation.quota_raise import raised
from projections.explanation.redaction import Redaction
from projections.explanation.words import Tier
from projections.state_hash import state_hash
from services.admitter.entry import QueueHead
from services.admitter.flavor_plans import plan_for
from tests.services.admitter.test_topology_with_cards import asking, host, racked
from tests.services.multikueue.test_rules import KEY, Manager, cluster, delegated
from tests.stories.small_world import Story, job, platform, queue


def reserved(world: Any, key: str) -> bool:
    return world.workloads[key].admission is not None


def told(story: Story, key: str) -> Any:
    before = state_hash(story.world)
    found = explain(story.world, story.world.workloads[key], story.at)
    assert state_hash(story.world) == before, "nothing is changed by asking"
    return found


def test_who_would_fit_and_waits_until_what_was_decided_before_is_written_is_told_which_admissions_these_are() -> None:
    story = Story().told(*platform(nominal=12, cards=12))
    story.told(*(job(name) for name in "abcd")).decided()
    found = told(story.told(job("e")), "team/e")
    assert (found.tier, found.reason) == (Tier.CLUSTER, UNWRITTEN)
    assert found.message.startswith("it would fit as things stand, but 4 admissions that were decided before are still")
    assert found.waits_for == tuple(f"team/{name} to be written" for name in "abcd")
    assert "goes on by itself" in found.fix


def test_who_may_not_preempt_is_told_which_of_its_gates_are_closed() -> None:
    story = Story().told(SettingsObserved(gates={"MultiKueueOrchestratedPreemption": True}))
    story.told(*platform(nominal=1, cards=1), job("low")).decided()
    high = job("high", priority=9)
    story.told(replace(high, spec=replace(high.spec, preemption_gates=("a", "b"))))
    story.told(
        PreemptionGateReported(workload="team/high", gate=GateState(name="a", open=True)),
        DecisionApplied(workload="team/low", partition="LOG_0", sequence=99),
    ).decided()
    found = told(story, "team/high")
    assert (found.tier, found.reason) == (Tier.SPEC, "PreemptionGated")
    assert found.waits_for == ("its preemption gate b to be opened",)
    assert "status.preemptionGates" in found.fix


def test_who_asks_a_queue_that_is_closed_is_told_what_closes_it_and_what_its_check_says() -> None:
    story = Manager()
    story.told(replace(cluster("w1"), active=False), ObjectRemoved(kind="MultiKueueCluster", name="w2"), delegated())
    story.decided()
    found = told(story, KEY)
    assert (found.tier, found.reason) == (Tier.QUEUE, "Suspended")
    assert found.message == (
        "ClusterQueue cq is inactive: it references inactive AdmissionCheck(s): mk; mk: Missing clusters: [w2 w3 w4], Inactive clusters: [w1]"
    )
    stopped = Story().told(*platform(), replace(queue("cq", nominal=8), stop=StopPolicy.HOLD), job("a"))
    stopped.decided()
    assert told(stopped, "team/a").message == "ClusterQueue cq is inactive: it is stopped"


@pytest.mark.parametrize(
    "ending",
    [
        lambda at: DecisionApplied(workload="team/a", partition="LOG_0", sequence=at),
        lambda at: DecisionRejected(workload="team/a", partition="LOG_0", sequence=at, reason="Invalid", message="no"),
        lambda _: WorkloadFinished(workload="team/a", reason="Succeeded"),
    ],
    ids=["written", "rejected", "finished"],
)
def test_what_is_on_its_way_no_more_holds_nobody_up(ending: Callable[[int], Fact]) -> None:
    story = Story().told(*platform(nominal=12, cards=12))
    story.told(*(job(name) for name in "abcd")).decided()
    story.told(ending(story.world.workloads["team/a"].decided), job("e"))
    assert told(story, "team/e").reason == "WaitingForItsTurn"


def test_who_waits_for_its_own_queue_is_told_by_how_much_it_has_to_grow() -> None:
    story = Story().told(*platform(nominal=2, cards=8), job("a", count=2), job("b", count=2))
    story.decided()
    found = told(story, "team/b")
    assert (found.tier, found.reason, found.line.position) == (Tier.QUEUE, "WaitingForQuota", 1)
    (together,) = found.raises
    assert {one.resource: one.by for one in together}["nvidia.com/gpu"] == 2
    assert found.ends == ("team/a",)


def test_a_raise_counts_those_who_are_before_it() -> None:
    facts = [
        replace(fact, strategy=QueueingStrategy.STRICT_FIFO) if isinstance(fact, ClusterQueueObserved) else fact
        for fact in platform(nominal=2, cards=8)
    ]
    story = Story().told(*facts, job("a", count=2), job("b", count=2, at=1))
    story.told(job("c", count=1, at=2)).decided()
    found = told(story, "team/c")
    assert found.line.ahead == ("team/b",)
    (together,) = found.raises
    assert {one.resource: one.by for one in together}["nvidia.com/gpu"] == 3


def test_who_has_lent_its_quota_is_told_who_holds_it() -> None:
    facts = platform(nominal=2, cards=8, cohort="team")
    story = Story().told(*facts, queue("other", nominal=2, cohort="team"))
    story.told(job("a", count=4)).decided()
    story.told(LocalQueueObserved(namespace="team", name="door", cluster_queue="other"))
    story.told(job("b", count=1, queue="door")).decided()
    found = told(story, "team/b")
    assert found.tier is Tier.COHORT
    short = [one for one in found.shortages if one.missing]
    assert short and short[0].lent > 0
    assert [each.cluster_queue for each in short[0].borrowers] == ["cq"]
    assert short[0].borrowers[0].workloads == ("team/a",)


def test_who_waits_for_cards_is_told_whom_to_stop() -> None:
    story = Story().told(*platform(nominal=8, cards=1), job("a", memory=30000), job("b", memory=30000))
    story.decided()
    found = told(story, "team/b")
    assert found.tier is Tier.DEVICE
    assert found.cards is not None and [step.holder for step in found.cards.steps] == ["team/a"]


def test_what_no_card_holds_is_the_spec_s_fault() -> None:
    story = Story().told(*platform(), job("giant", memory=60000))
    story.decided()
    found = told(story, "team/giant")
    assert (found.tier, found.reason) == (Tier.SPEC, "ExceedsCardCapacity")
    assert found.fix


@pytest.mark.parametrize("behind", ["", "nowhere"])
def test_who_names_a_queue_that_is_not_there_is_told_to_have_it_created(behind: str) -> None:
    story = Story().told(*platform())
    if behind:
        story.told(LocalQueueObserved(namespace="team", name="door", cluster_queue=behind))
    story.told(job("lost", queue="door")).decided()
    found = told(story, "team/lost")
    assert found.reason == "Misconfigured" and (behind or "door") in found.message
    assert found.fix.startswith("create the queue that is named")


@pytest.mark.parametrize("seed", range(30))
def test_the_raise_that_is_named_really_lets_it_in(seed: int) -> None:
    entries, _ = played(small_day(seed), most=60)
    point = point_at(entries, f"LOG_0/{max(len(entries['LOG_0']) * 2 // 3, 1)}")
    world = world_at(point)
    asked = 0
    for key in sorted(world.workloads):
        workload = world.workloads[key]
        found = world.cluster_queue_of(workload)
        if workload.admission is not None or workload.finished or found is None or not workload.line:
            continue
        plan = plan_for(world, QueueHead(workload=workload, queue=found))
        for together in unblocking(world, workload, found, plan, point.at, Patience()):
            asked += 1
            amounts = {(one.flavor, one.resource): one.by for one in together}
            bigger = raised(found, amounts)
            assert tried(world, [bigger], point.at, lambda w, k=key: reserved(w, k), lambda w, k=key: reserved(w, k))
            for name, amount in amounts.items():
                less = raised(found, {**amounts, name: amount - 1})
                assert not tried(
                    world, [less], point.at, lambda w, k=key: reserved(w, k), lambda w, k=key: reserved(w, k)
                )
        if asked >= 3:
            return


def test_a_preempted_workload_is_told_by_whom_by_which_rule_and_what_it_changed() -> None:
    for seed in range(60):
        entries, outcomes = played(small_day(seed), most=80)
        victims = [key for key, one in outcomes.found.items() if one.preempted]
        if victims:
            break
    point = point_at(entries)
    (first, *_) = [one for one in stops(point, victims[0]) if one.kind == "preempted"]
    assert first.by and first.rule and first.requested.startswith("LOG_0/")
    assert victims[0] in first.victims
    assert first.standings
    assert {one.node for one in first.standings} >= {f"queue/{outcomes.found[victims[0]].queue}"}


def test_names_of_other_namespaces_are_left_out_wherever_they_stand() -> None:
    hidden = Redaction(["mine"], ["mine", "theirs", "theirs-too"])
    value = {"by": "theirs/job-x", "text": "pod:theirs-too/p holds it, mine/job-y waits for theirs/job-x", "n": 3}
    told_value = hidden.of(value)
    assert "theirs" not in str(told_value)
    assert "mine/job-y" in told_value["text"]
    assert told_value["by"] in told_value["text"]
    assert told_value["n"] == 3


@pytest.mark.parametrize(
    "text",
    [
        "job/theirs/x has to stop",
        "workload/theirs/x",
        "workload/gone-by-now/x",
        "localqueue/theirs/q and namespace/theirs",
        "waits for gone-by-now/x.",
        "node/x",
        "theirs/a/b",
    ],
)
def test_a_name_is_left_out_with_its_kind_where_its_namespace_is_gone_and_where_it_is_called_as_a_kind(
    text: str,
) -> None:
    told_text = Redaction(["mine"], ["mine", "theirs", "node"]).text(text)
    assert "another namespace's #1" in told_text
    assert not {"theirs", "gone-by-now", "node/x"} & set(re.split(r"[ /]", told_text)) and "/x" not in told_text


def test_what_is_no_name_of_another_namespace_stays() -> None:
    text = (
        "LOG_0/17 gpu-1/GPU-7 nvidia.com/gpu queue/q clusterqueue/q node/n workload/mine/x mine/y 3/4 "
        "preemptor path: /team/q; FACTS/3 WorkloadSubmitted"
    )
    assert Redaction({"mine"}, ["theirs"], {"gpu-1"}).text(text) == text


def test_points_that_the_log_does_not_reach_are_refused() -> None:
    entries, _ = played(small_day(1), most=20)
    for text in ("LOG_0/999999", "FACTS/1", "2020-01-01T00:00:00Z"):
        with pytest.raises(NotOnTheLog):
            point_at(entries, text)
    with pytest.raises(NotOnTheLog):
        point_at({"FACTS": [], "LOG_0": []}, "5")


def test_a_job_is_found_by_its_name_and_by_its_workload_s() -> None:
    story = Story().told(*platform(), job("a"))
    assert find_workload(story.world, "job/team/a") is find_workload(story.world, "workload/team/a")
    assert find_workload(story.world, "job/team/nobody") is None


def locked(story: Story, **lock: Any) -> Any:
    return told(story.told(NodeLockObserved(node="n1", **lock)), "team/a").waits_for


def test_who_is_admitted_to_a_node_that_hami_has_locked_is_told_for_whom_and_until_when() -> None:
    story = Story().told(*platform(nominal=2, cards=8), job("a", count=1))
    story.decided()
    assert locked(story) == ("its pods to be ready",)
    other = PodObserved(namespace="team", name="p", uid="p", assigned="n1", shares=((),))
    (_, words) = locked(story.told(other), since=story.at, namespace="team", pod="p")
    assert (
        words.startswith("HAMi's lock on node n1, held for pod team/p since ")
        and "one pod there after the other" in words
    )
    (_, words) = locked(
        story.told(ObjectRemoved(kind="Pod", namespace="team", name="p")), since=story.at, namespace="team", pod="p"
    )
    assert words.endswith("the pod is gone, HAMi breaks the lock at the next one")
    (_, words) = locked(story, since=story.at - 300_001)
    assert words.endswith("that is over, HAMi breaks it at the next pod")
    own = PodObserved(namespace="team", name="a-0", uid="a", assigned="n1", workload="team/a")
    assert len(locked(story.told(own), since=story.at, namespace="team", pod="a-0")) == 1
    assert locked(story.told(ObjectRemoved(kind="Node", name="n1"))) == ("its pods to be ready",)


@pytest.mark.parametrize("wanted", ["clusterqueue/odd", "job/team/odd", "workload/team/odd"])
def test_what_was_refused_is_said_to_be_refused_and_why(wanted: str) -> None:
    kind, _, name = wanted.partition("/")
    space, _, bare = name.rpartition("/")
    problem = ObjectProblem(field="spec.queue", message="'x y' is no name", instead="a name")
    shown = {"clusterqueue": "ClusterQueue", "job": "Job", "workload": "Workload"}[kind]
    story = Story().told(*platform(), ObjectRefused(kind=shown, namespace=space, name=bare, problems=(problem,)))
    point = point_at({name: [] for name in SOLE.every}, "")
    with pytest.raises(NotOnTheLog, match=r"was refused: spec.queue: 'x y' is no name \(write a name\)"):
        explained(story.world, point, wanted)
    with pytest.raises(NotOnTheLog, match=f"the log knows no {kind}"):
        explained(story.world, point, wanted.replace("odd", "other"))
    if space:
        with pytest.raises(NotOnTheLog, match=f"the log knows no {kind}"):
            explained(story.world, point, wanted, lambda key: not key.startswith("team/"))


def test_what_would_help_is_tried_no_longer_than_said_and_then_the_answer_says_so() -> None:
    facts = [
        replace(fact, strategy=QueueingStrategy.STRICT_FIFO) if isinstance(fact, ClusterQueueObserved) else fact
        for fact in platform(nominal=2, cards=8)
    ]
    story = Story().told(*facts, job("a", count=2), *(job(f"b{n}", count=2, at=1 + n) for n in range(6)))
    story.told(job("z", count=1, at=9)).decided()
    workload = story.world.workloads["team/z"]
    before = state_hash(story.world)
    whole = explain(story.world, workload, story.at)
    assert whole.raises and not whole.note
    for trials in (0, 1, 3):
        ticks = iter(range(1_000))
        short = explain(
            story.world, workload, story.at, patience=Patience(trials + 0.5, clock=lambda ticks=ticks: next(ticks))
        )
        assert short.note == TIME_IS_OVER and (short.tier, short.reason) == (whole.tier, whole.reason)
        assert next(ticks) <= trials + 3, "nothing is tried when the time is over"
        for together in short.raises:
            queue = raised(story.world.cluster_queues["cq"], {(one.flavor, one.resource): one.by for one in together})
            there = tried(
                story.world, [queue], story.at, lambda w: reserved(w, "team/z"), lambda w: reserved(w, "team/z")
            )
            assert there, "what is said helps, though less may do"
    assert state_hash(story.world) == before


def test_pods_that_find_no_domain_are_told_the_nearest_of_each_level_with_the_cards_that_are_short_there() -> None:
    story = racked(host("a", "r1"), host("b", "r1"), host("c", "r2"), host("d", "r2"))
    story.told(asking("first", count=2), asking("one")).decided()
    story.told(asking("wide", count=2)).decided()
    found = told(story, "team/wide")
    assert found.tier is Tier.TOPOLOGY and found.ends == ("team/first", "team/one") and not found.raises
    assert found.domains is not None
    rows = near_rows(msgspec.to_builtins(found.domains))
    assert [(row["level"], row["domain"], row["verdict"]) for row in rows] == [
        ("rack", "r2", "1 of 2 pod(s) fit"),
        ("kubernetes.io/hostname", "r2/d", "1 of 2 pod(s) fit"),
    ]
    assert rows[0]["lacks"] == [
        "nvidia.com/gpu: enough for 1, 1 slice(s) of 20000 MiB together missing; "
        "a pod asks for 1 NVIDIA card(s) with 20000 MiB and 50 % of the cores each",
        "NVIDIA-V100: 1 of 2 card(s) idle, 45536 MiB free, 32768 MiB and 100 cores in one piece, 19 slice(s)",
    ]


def test_pods_that_ask_for_several_cards_each_are_told_how_many_slices_and_how_much_of_them_is_missing() -> None:
    story = racked(host("a", "r1", cards=2), host("b", "r2", cards=2))
    story.told(asking("first", cards=2)).decided()
    story.told(asking("wide", count=3, cards=2)).decided()
    found = told(story, "team/wide")
    assert found.domains is not None
    rack, *_ = found.domains.domains
    assert rack.cards is not None
    assert (rack.pods, rack.cards.pods, rack.cards.cards, rack.cards.memory) == (1, 1, 4, 80_000)


def test_pods_that_no_domain_ever_holds_are_the_spec_s_fault_and_told_what_is_short_there() -> None:
    story = racked(host("a", "r1"), host("b", "r2"))
    story.told(asking("wide", count=2)).decided()
    found = told(story, "team/wide")
    assert (found.tier, found.reason) == (Tier.SPEC, "TopologyPlacementFailed")
    assert "wider level" in found.fix
    assert found.domains is not None and found.domains.domains[0].cards is not None


def test_who_is_not_placed_by_topology_and_who_finds_a_domain_is_told_of_none() -> None:
    story = racked(host("a", "r1"))
    story.told(asking("fits")).decided()
    assert told(story, "team/fits").domains is None
    plain = Story().told(*platform(nominal=1), job("a"), job("b"))
    plain.decided()
    assert told(plain, "team/b").domains is None


def test_what_pods_claim_is_told_with_template_and_class_and_why_it_can_not_be_counted() -> None:
    counted = CountedRequest(
        asked_by="ResourceClaimTemplate two", device_class="gpu.example.com", count=2, resource="gpus", amount=2
    )
    pods = (PodSet(name="main", count=3, claims=PodClaims(charged={"gpus": 2}, requests=(counted,))),)
    spec = WorkloadSpec(queue="lq", pod_sets=pods)
    story = Story().told(*gpus_of(5), WorkloadSubmitted(workload="team/c", uid="c", created_at=0, spec=spec))
    story.decided()
    found = told(story, "team/c")
    assert found.claims == (
        "pod set main: ResourceClaimTemplate two asks for 2 of DeviceClass gpu.example.com, 2 gpus for each pod",
    )
    (short,) = found.shortages
    assert (short.resource, short.asked, short.available) == ("gpus", 6, 5)
    refused = replace(spec, claims_refused="DeviceClass x is not mapped")
    story.told(WorkloadChanged(workload="team/c", spec=refused)).decided()
    found = told(story, "team/c")
    assert (found.tier, found.reason, found.message) == (Tier.SPEC, "Misconfigured", "DeviceClass x is not mapped")
    assert "looked at again when its template" in found.fix


def gpus_of(nominal: int) -> tuple[Any, ...]:
    quotas = (Quota(resource="gpus", nominal=nominal),)
    group = ResourceGroup(resources=("gpus",), flavors=(FlavorQuotas(flavor="f", quotas=quotas),))
    return (
        NamespaceObserved(name="team"),
        FlavorObserved(name="f"),
        ClusterQueueObserved(name="cq", namespaces=LabelSelector(), groups=(group,)),
        LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq"),
    )
