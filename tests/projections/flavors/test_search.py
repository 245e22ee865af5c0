"""The search for flavors against the definitions, and the straight way through it against the whole."""

import pytest
from msgspec.structs import replace

from events.admission import FlavorAttempt, Mode
from events.pod_set import PodSet
from events.quota import ClusterQueueObserved, FlavorObserved, FlavorQuotas, FlavorSearch, Quota, ResourceGroup
from events.topology import TopologyRequest
from projections.flavors.first_fit import assign_first_fit
from projections.flavors.mode import Granular
from projections.flavors.plan import HeldBefore, PodSetRequest, plan_of
from projections.flavors.search import FlavorSearchSpace, assign, refusal_reason
from projections.flavors.suitability import PlanRules
from projections.quota.tree import QuotaTree
from projections.trail import Trail
from tests.projections.flavors.asking_world import GROUPS, Asking
from tests.projections.flavors.search_by_definition import Found, Given, SearchByDefinition

MANY = 800


def by_definition(at: Asking) -> Found:
    return SearchByDefinition(at.tree, at.queue, at.at).search(at.asked)


def test_every_pod_set_gets_the_flavors_that_the_definitions_say_or_the_reason_why_not() -> None:
    for seed in range(MANY):
        at = Asking(seed)
        wanted, found = by_definition(at), assign(at.space)
        given = [
            {name: Given(one.flavor, one.mode, one.borrow, one.tried) for name, one in pod_set.flavors.items()}
            for pod_set in found.pod_sets
        ]
        assert given == wanted.given, seed
        assert [one.failed for one in found.pod_sets] == wanted.failed, seed
        assert [one.reached for one in found.pod_sets] == wanted.reached, seed
        usage = {at.quota.columns.names[column]: amount for column, amount in found.usage.items()}
        assert (usage, found.borrow) == (wanted.usage, wanted.borrow), seed
        first = next((one for one in wanted.failed if one), "WaitingForQuota")
        assert refusal_reason(found) == first, seed


def test_what_is_recorded_of_one_pod_set_of_a_group_is_recorded_of_all() -> None:
    for seed in range(MANY):
        at = Asking(seed)
        recorded: dict[str, list[FlavorAttempt]] = {one.name: [] for one in at.asked}
        for one in assign(at.space).attempts:
            recorded[one.pod_set].append(replace(one, pod_set=""))
        for one in at.asked:
            first = next(other.name for other in at.asked if other is one or (one.group and other.group == one.group))
            assert recorded[one.name] == recorded[first], seed
            tried = {attempt.flavor for attempt in recorded[one.name]}
            for names, flavors in GROUPS:
                asked = any(name in one.requests for name in names)
                assert not asked or at.at.pinned or tried & set(flavors), "whether or not something else fits nowhere"


def test_what_is_recorded_of_a_flavor_is_what_the_definitions_say_of_it() -> None:
    for seed in range(MANY):
        at = Asking(seed)
        for one in assign(at.space).attempts:
            if not one.resource:
                assert (one.mode, one.reason) == (Mode.NO_FIT, "NoMatchingFlavor"), seed
                assert one.flavor in at.at.unsuitable or any(place[1] == one.flavor for place in at.at.excluded), seed
                continue
            item = (one.flavor, one.resource)
            judged = SearchByDefinition(at.tree, at.queue, at.at).fits(item, one.asked)
            assert (one.mode, one.reason) == (judged.mode, judged.why), seed
            assert one.borrow_level == judged.borrow, seed
            available = at.tree.available(("queue", "a"), item)
            assert (one.available, one.missing) == (available, max(0, one.asked - available)), seed
            assert one.potential == at.tree.potential(("queue", "a"), item), seed
            assert bool(one.message) is (one.mode is not Mode.FIT), seed


def test_the_straight_way_is_taken_when_every_first_suited_flavor_fits_and_finds_what_the_whole_search_finds() -> None:
    taken = 0
    for seed in range(MANY):
        at = Asking(seed, plain=True)
        straight, whole = assign_first_fit(at.plan, at.space.node), assign(at.space)
        assert (straight is not None) is is_straight(at), seed
        if straight is None:
            continue
        taken += 1
        assert straight.assignments() == whole.assignments(), seed
        assert (straight.usage, straight.borrow, straight.progress) == (whole.usage, whole.borrow, whole.progress), seed
        assert (straight.attempts, straight.message) == (whole.attempts, whole.message), seed
        assert straight.mode is whole.mode is Mode.FIT, seed
    assert taken > MANY // 20


def test_that_the_slice_before_runs_on_another_flavor_is_said_for_each_resource_and_all_else_once() -> None:
    """In Kueue's words, which stand in the condition of the workload."""
    quotas = tuple(Quota(resource=name, nominal=2) for name in ("cpu", "memory"))
    flavors = tuple(FlavorQuotas(flavor=name, quotas=quotas) for name in ("f0", "f1", "gone"))
    queue = ClusterQueueObserved(name="a", groups=(ResourceGroup(resources=("cpu", "memory"), flavors=flavors),))
    quota = QuotaTree(Trail())
    quota.set_cluster_queue(queue)
    held = HeldBefore(usage={"cpu": 1, "memory": 1}, flavors={"cpu": "f0", "memory": "f0"})
    asked = PodSetRequest(pod_set=PodSet(name="main", count=1), count=1, requests={"cpu": 9, "memory": 9}, held=held)
    known = {name: FlavorObserved(name=name) for name in ("f0", "f1")}
    plan = plan_of(quota, queue, known, [asked], PlanRules(topology=False))
    space = FlavorSearchSpace(
        plan=plan, node=quota.queues["a"], names=quota.columns.names, oracle=lambda *_: Granular(Mode.NO_CANDIDATES)
    )
    (found,) = assign(space).pod_sets
    other = "could not assign f1 flavor since the original workload is assigned: f0"
    assert found.reasons[1:] == [other, other, "flavor gone not found"]
    assert found.reasons[0].startswith("insufficient quota for cpu in flavor f0")


@pytest.mark.parametrize(
    ("topology", "group", "given"),
    [("t", "g", "f0"), ("", "g", ""), ("t", "", "")],
    ids=["", "no topology", "no group"],
)
def test_a_leader_that_asks_for_nothing_gets_the_flavor_of_its_workers_where_that_has_a_topology(
    topology: str, group: str, given: str
) -> None:
    flavors = (FlavorQuotas(flavor="f0", quotas=(Quota(resource="cpu", nominal=2),)),)
    queue = ClusterQueueObserved(name="a", groups=(ResourceGroup(resources=("cpu",), flavors=flavors),))
    quota = QuotaTree(Trail())
    quota.set_cluster_queue(queue)
    asked = [
        PodSetRequest(
            pod_set=PodSet(name=name, count=1, topology=TopologyRequest(pod_set_group=group, unconstrained=True)),
            count=1,
            requests=requests,
        )
        for name, requests in (("leader", {}), ("workers", {"cpu": 1}))
    ]
    known = {"f0": FlavorObserved(name="f0", topology=topology)}
    plan = plan_of(quota, queue, known, asked, PlanRules(topology=False))
    space = FlavorSearchSpace(
        plan=plan, node=quota.queues["a"], names=quota.columns.names, oracle=lambda *_: Granular(Mode.NO_CANDIDATES)
    )
    for found in (assign(space), assign_first_fit(plan, space.node)):
        assert found is not None
        leader, workers = found.pod_sets
        assert {name: one.flavor for name, one in workers.flavors.items()} == {"cpu": "f0"}
        assert {name: one.flavor for name, one in leader.flavors.items()} == ({"cpu": given} if given else {})


def is_straight(at: Asking) -> bool:
    """Whether every resource fits in the first flavor of its group that suits, and that ends the search."""
    first = {
        name: next((flavor for flavor in flavors if flavor not in at.at.unsuitable), "")
        for names, flavors in GROUPS
        for name in names
    }
    wanted = by_definition(at)
    patient = at.queue.fungibility.when_can_borrow is FlavorSearch.TRY_NEXT_FLAVOR
    return not any(wanted.failed) and all(
        one.mode is Mode.FIT and one.flavor == first[name] and not (patient and one.borrow)
        for given in wanted.given
        for name, one in given.items()
    )
