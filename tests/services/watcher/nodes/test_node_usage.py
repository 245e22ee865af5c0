"""What pods hold of nodes that are not placed by topology, as it is told by one watcher and by two, one of them late."""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from msgspec.structs import replace

from events.catalogue import Fact
from events.codec import decode_sighting, encode
from events.device import NodeUsageObserved
from events.json_object import JsonObject
from events.subjects import FACTS, fact_subject
from ops.production.log.memory import MemoryStream
from projections.world import World
from services.runtime.log_port import Message
from services.watcher.log_reading import ReportedByAll
from services.watcher.saved_view import SavedView, begin_at, view_as_json
from services.watcher.seen_versions import SeenVersions
from services.watcher.view import View
from tests.services.watcher.scripted_cluster import Objects, OneOfSeveral, rest
from tests.services.watcher.test_two_watchers import Pair, job, priority


def flavor(name: str = "placed", topology: str = "racks", pool: str = "a") -> JsonObject:
    return {"metadata": {"name": name}, "spec": {"topologyName": topology, "nodeLabels": {"pool": pool}}}


def node(name: str, pool: str = "a") -> JsonObject:
    return {"metadata": {"name": name, "uid": name, "labels": {"pool": pool}}, "status": {"allocatable": {"cpu": "8"}}}


def pod(name: str, on: str = "n1", phase: str = "Running", cpu: str = "1500m", **annotations: str) -> JsonObject:
    resources = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    return {
        "metadata": {"name": name, "namespace": "team", "uid": name, "annotations": annotations},
        "spec": {"nodeName": on, "containers": [{"name": "c", "resources": resources}]},
        "status": {"phase": phase},
    }


def with_card(value: JsonObject) -> JsonObject:
    """A pod that is also told by itself, because it asks for a card."""
    container = value["spec"]["containers"][0]
    asking = {**container, "resources": {**container["resources"], "limits": {"nvidia.com/gpu": "1"}}}
    return {**value, "spec": {**value["spec"], "containers": [asking]}}


def usage(node: str, pods: int, cpu: int | None = None) -> NodeUsageObserved:
    milli = 1500 * pods if cpu is None else cpu
    requests = {"cpu": milli, "memory": pods << 30, "pods": pods} if pods else {}
    return NodeUsageObserved(node=node, requests=requests)


class Seeing:
    """One view of a cluster; what each sight has it tell about the usage of nodes."""

    def __init__(self, view: View | None = None) -> None:
        self.view = view or View()

    def count(self, *pods: JsonObject) -> list[Fact]:
        self.view.node_usage.count_all(pods)
        return self.view.usage_news()

    def see(self, kind: str, value: JsonObject) -> list[Fact]:
        if kind == "Pod":
            self.view.node_usage.see(value)
        self.view.see(kind, value)
        return self.view.usage_news()

    def lose(self, kind: str, name: str) -> list[Fact]:
        if kind == "Pod":
            self.view.node_usage.lose("team", name)
        self.view.lose(kind, "team" if kind == "Pod" else "", name)
        return self.view.usage_news()


@pytest.fixture
def at() -> Seeing:
    """Two nodes of a flavor with a topology, one of another, and no pod."""
    found = Seeing()
    for name, pool in (("n1", "a"), ("n2", "a"), ("other", "b")):
        found.view.see("Node", node(name, pool))
    found.view.see("ResourceFlavor", flavor())
    assert found.count() == []
    return found


def test_pods_on_nodes_of_a_flavor_with_a_topology_are_summed_and_told_when_the_sum_changes(at: Seeing) -> None:
    assert at.see("Pod", pod("one")) == [usage("n1", 1)]
    assert at.see("Pod", pod("one")) == []
    assert at.see("Pod", pod("two", cpu="500m")) == [usage("n1", 2, 2000)]
    assert at.see("Pod", pod("three", "n2")) == [usage("n2", 1)]
    assert at.see("Pod", pod("one", phase="Succeeded")) == [usage("n1", 1, 500)]
    assert at.lose("Pod", "two") == [usage("n1", 0)]
    assert at.see("ResourceFlavor", flavor("without", "", "b")) == []
    assert at.see("Pod", pod("elsewhere", "other")) == []


@pytest.mark.parametrize(
    "value",
    [
        pod("waits", "", "Pending"),
        pod("failed", phase="Failed"),
        *(
            pod("placed", **{f"kueue.x-k8s.io/podset-{word}": "x"})
            for word in (
                "required-topology",
                "preferred-topology",
                "unconstrained-topology",
                "slice-required-topology",
                "slice-required-topology-constraints",
            )
        ),
    ],
    ids=lambda value: " ".join(value["metadata"]["annotations"]) or value["metadata"]["name"],
)
def test_pods_without_a_node_or_that_are_over_or_are_placed_by_topology_are_not_counted(
    at: Seeing, value: JsonObject
) -> None:
    assert at.see("Pod", value) == []


def test_what_a_pod_holds_are_its_effective_requests(at: Seeing) -> None:
    value = pod("one")
    value["spec"] = {
        "nodeName": "n1",
        "overhead": {"cpu": "100m"},
        "initContainers": [
            {"name": "big", "resources": {"requests": {"cpu": "3"}}},
            {"name": "beside", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
        ],
        "containers": [{"name": "c", "resources": {"limits": {"cpu": "1", "nvidia.com/gpumem": "16Gi", "x": "0"}}}],
    }
    (told,) = at.see("Pod", value)
    assert told == NodeUsageObserved(node="n1", requests={"cpu": 3100, "nvidia.com/gpumem": 16 << 30, "pods": 1})


def test_a_pod_that_nobody_can_read_is_counted_as_far_as_it_can_be(at: Seeing) -> None:
    broken = pod("one", cpu="much")
    assert at.see("Pod", broken) == [NodeUsageObserved(node="n1", requests={"memory": 1 << 30, "pods": 1})]
    assert at.see("Pod", {"metadata": {"name": "odd", "namespace": "team"}, "spec": "none"}) == []


def test_without_a_flavor_that_has_a_topology_nothing_is_told_and_once_there_is_one_pods_have_to_be_listed_again() -> (
    None
):
    at = Seeing()
    at.view.see("Node", node("n1"))
    at.view.see("ResourceFlavor", flavor(topology=""))
    assert at.count(pod("one")) == []
    assert at.see("Pod", pod("two")) == []
    assert not at.view.node_usage.missed
    assert at.see("ResourceFlavor", flavor(topology="racks")) == []
    assert at.view.node_usage.missed
    assert at.count(pod("one"), pod("two")) == [usage("n1", 2)]
    assert not at.view.node_usage.missed


def test_nodes_that_come_to_a_flavor_are_told_with_what_is_on_them_already(at: Seeing) -> None:
    at.see("Pod", pod("elsewhere", "other"))
    assert at.see("Node", node("other", "a")) == [usage("other", 1)]
    at.see("Pod", pod("third", "third"))
    assert at.see("Node", node("third", "c")) == []
    assert at.see("ResourceFlavor", flavor("second", pool="c")) == [usage("third", 1)]


def test_a_node_that_comes_back_is_told_anew(at: Seeing) -> None:
    at.see("Pod", pod("one"))
    assert at.lose("Node", "n1") == []
    assert at.see("Pod", pod("two")) == []
    assert at.see("Node", node("n1")) == [usage("n1", 2)]


def test_a_list_of_pods_leaves_no_pod_that_is_not_on_it(at: Seeing) -> None:
    at.see("Pod", pod("one"))
    at.see("Pod", pod("two", "n2"))
    assert at.count(pod("two", "n2"), pod("three", "n2")) == [usage("n1", 0), usage("n2", 2)]


@pytest.mark.parametrize("saved", [False, True], ids=["from the log", "from a saved view"])
def test_a_watcher_that_starts_anew_tells_only_what_has_changed_meanwhile(at: Seeing, *, saved: bool) -> None:
    at.see("Pod", pod("one"))
    at.see("Pod", pod("two", "n2"))
    again = View()
    if saved:
        reported = ReportedByAll(at.view, SeenVersions())
        begin_at(
            ReportedByAll(again, SeenVersions()),
            msgspec.json.decode(b"".join(view_as_json(reported, "", None)), type=SavedView),
        )
    else:
        for fact in at.view.facts.values():
            again.fold(fact)
    assert again.usage_news() == [], "nothing before the pods are known"
    assert Seeing(again).count(pod("two", "n2")) == [usage("n1", 0)]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_in_whatever_order_what_was_told_is_the_sum_of_the_pods(at: Seeing, seed: int) -> None:
    chance, pods, told = random.Random(seed), dict[str, JsonObject](), dict[str, Any]()
    pools = {"n1": "a", "n2": "a", "other": "b"}
    labels = {"placed": "a"}
    for _ in range(80):
        name, on = f"p{chance.randrange(6)}", chance.choice(tuple(pools))
        news: list[Fact] = []
        match chance.randrange(6):
            case 0:
                pools[on] = chance.choice("abc")
                news = at.see("Node", node(on, pools[on]))
            case 1:
                labels["second"] = chance.choice("abc")
                news = at.see("ResourceFlavor", flavor("second", pool=labels["second"]))
            case 2 if name in pods:
                del pods[name]
                news = at.lose("Pod", name)
            case 3:
                news = at.count(*pods.values())
            case _:
                phase = chance.choice(("Running", "Running", "Failed"))
                pods[name] = pod(name, on, phase, f"{chance.randrange(1, 4)}")
                news = at.see("Pod", pods[name])
        for fact in news:
            assert isinstance(fact, NodeUsageObserved)
            told[fact.node] = fact.requests
        for each in [one for one, pool in pools.items() if pool in labels.values()]:
            there = [one for one in pods.values() if one["spec"]["nodeName"] == each]
            running = [one for one in there if one["status"]["phase"] == "Running"]
            cpu = [int(one["spec"]["containers"][0]["resources"]["requests"]["cpu"]) for one in running]
            assert told.get(each, {}) == usage(each, len(running), 1000 * sum(cpu)).requests


class Placed(Pair):
    """Two watchers on one cluster with a flavor that has a topology."""

    async def begin(self) -> "Placed":
        await self.objects.put("ResourceFlavor", flavor())
        for name, pool in (("n1", "a"), ("n2", "a"), ("other", "b")):
            await self.objects.put("Node", node(name, pool))
        await super().begin()
        return self

    def check_usage(self) -> None:
        """The log folds to what the pods of the cluster hold of the nodes of the flavor, and both watchers know it."""
        cluster = View()
        for kind in ("Node", "ResourceFlavor"):
            for (found, _, _), value in self.objects.there.items():
                if found == kind:
                    cluster.see(kind, value)
        cluster.node_usage.count_all(value for (kind, _, _), value in self.objects.there.items() if kind == "Pod")
        held = {one.node: one.requests for one in cluster.usage_news() if isinstance(one, NodeUsageObserved)}
        world = self.world.node_usage
        offered = [name for name, one in self.world.nodes.items() if one.labels["pool"] == "a"]
        assert {name: world[name] for name in offered if name in world} == held
        for one in self.watchers:
            if not one.task.done():
                known = {
                    fact.node: fact.requests
                    for fact in one.watcher.view.facts.values()
                    if isinstance(fact, NodeUsageObserved) and fact.requests
                }
                assert known == world


@pytest_asyncio.fixture
async def pair() -> AsyncIterator[Placed]:
    found = await Placed().begin()
    yield found
    await found.end()


async def test_two_watchers_tell_once_and_neither_falls_behind(pair: Placed) -> None:
    began = [one.watcher.view for one in pair.watchers]
    for number in range(8):
        await pair.objects.put("Pod", pod(f"p{number}", f"n{number % 2 + 1}"))
    await rest(*pair.watchers)
    pair.check_usage()
    assert [one.watcher.view for one in pair.watchers] == began


async def test_a_late_watcher_writes_no_older_sum_over_a_newer_one_and_can_take_over(pair: Placed) -> None:
    early, late = pair.watchers
    began = late.watcher.view
    late.gate.close()
    for number in range(5):
        await pair.objects.put("Pod", pod(f"p{number}"))
    await rest(early)
    await pair.wake(late)
    sums = [one.node_usage["n1"]["pods"] for one in pair.told(World()) if "n1" in one.node_usage]
    assert sums == sorted(sums), "never again what was before"
    assert late.watcher.view is began
    pair.check_usage()
    await early.end()
    await pair.objects.remove("Pod", pod("p0"))
    await rest(late)
    pair.check_usage()


async def test_a_sum_that_somebody_has_told_otherwise_is_told_again_by_who_sees_the_pods(pair: Placed) -> None:
    await pair.objects.put("Pod", pod("one"))
    await pair.objects.put("Pod", pod("two", "other"))
    await rest(*pair.watchers)
    told = [decode_sighting(entry.data) for entry in pair.stream.entries]
    last = [one for one in told if isinstance(one.fact, NodeUsageObserved)][-1]
    wrong = replace(last, id="wrong", fact=usage("n1", 7))
    subject = fact_subject("", "NodeUsageObserved")
    await pair.stream.publish([Message(subject, encode(wrong), wrong.id)])
    await rest(*pair.watchers)
    assert [entry.message_id for entry in pair.stream.entries].count("wrong") == 1
    assert pair.world.node_usage == {"n1": usage("n1", 1).requests}
    pair.check_usage()


async def test_two_that_see_the_same_pods_differently_do_not_contradict_each_other_for_ever(pair: Placed) -> None:
    await pair.objects.put("Pod", pod("one"))
    await rest(*pair.watchers)
    told = [decode_sighting(entry.data) for entry in pair.stream.entries]
    last = [one for one in told if isinstance(one.fact, NodeUsageObserved)][-1]
    other = replace(last, id="other", fact=usage("n1", 7))
    await pair.stream.publish([Message(fact_subject("", "NodeUsageObserved"), encode(other), other.id)])
    before = len(pair.stream.entries)
    await rest(*pair.watchers)
    assert len(pair.stream.entries) == before
    await pair.objects.put("Pod", pod("two"))
    await rest(*pair.watchers)
    assert pair.world.node_usage == {"n1": usage("n1", 2).requests}
    pair.check_usage()


async def test_a_flavor_that_gets_a_topology_has_pods_counted_that_were_passed_over() -> None:
    objects = Objects()
    await objects.put("ResourceFlavor", flavor(topology=""))
    await objects.put("Node", node("n1"))
    await objects.put("Pod", pod("one"))
    one = OneOfSeveral(objects, MemoryStream(FACTS))
    try:
        await rest(one)
        assert not any(isinstance(fact, NodeUsageObserved) for fact in one.watcher.view.facts.values())
        await objects.put("ResourceFlavor", flavor())
        await rest(one)
        assert one.watcher.view.facts["Node//n1#usage"] == usage("n1", 1)
    finally:
        await one.end()


async def test_what_pods_hold_is_told_before_anybody_asks_for_a_place() -> None:
    objects, stream = Objects(), MemoryStream(FACTS)
    await objects.put("ResourceFlavor", flavor())
    await objects.put("Node", node("n1"))
    await objects.put("Pod", pod("one"))
    await objects.put("WorkloadPriorityClass", priority(5))
    await objects.put("Job", job())
    one = OneOfSeveral(objects, stream)
    try:
        await rest(one)
    finally:
        await one.end()
    subjects = [entry.subject.rpartition(".")[2] for entry in stream.entries]
    assert subjects.index("NodeUsageObserved") < subjects.index("WorkloadSubmitted")


@pytest.mark.parametrize("seed", range(12))
async def test_whoever_is_late_the_log_tells_what_is_held(pair: Placed, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        name, on = f"p{chance.randrange(5)}", chance.choice(("n1", "n2", "other"))
        there = pair.objects.there.get(("Pod", "team", name))
        match chance.randrange(9):
            case 0:
                await pair.objects.put("Node", node(on, chance.choice("ab")))
            case 1 | 2 if there is not None:
                await pair.objects.remove("Pod", there)
            case 3:
                known = pair.objects.there.get(("Node", "", on))
                await (pair.objects.put("Node", node(on)) if known is None else pair.objects.remove("Node", known))
            case 4:
                chance.choice(pair.watchers).gate.close()
            case 5:
                chance.choice(pair.watchers).gate.cluster.set()
            case 6:
                chance.choice(pair.watchers).gate.log.set()
            case _:
                value = pod(name, on)
                await pair.objects.put("Pod", with_card(value) if chance.random() < 0.5 else value)
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0.001)
    for one in pair.watchers:
        one.gate.cluster.set()
        one.gate.log.set()
    await rest(*pair.watchers)
    pair.check_usage()
    told = sum(entry.subject.endswith("NodeUsageObserved") for entry in pair.stream.entries)
    assert told <= 4 * len(pair.objects.history), "each tells what it sees, and nobody contradicts for ever"
