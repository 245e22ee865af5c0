from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from events.device import NodeObserved
from events.quota import FlavorObserved
from events.topology import TopologyAssignment, TopologyDomain, TopologyObserved, TopologyPlacement
from events.workload import PodSetAssignment
from projections.topology.domains.tree import HOSTNAME
from projections.topology.usage import DomainTables, HeldDomains, TopologyUsage
from projections.trail import Trail

HOSTS = ("x1", "x2", "x3")
ONE, TWO = "one", "two"
STEPS = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.sampled_from((ONE, TWO)), st.dictionaries(st.sampled_from(HOSTS), st.integers(1, 3))
    ),
    max_size=12,
)


def node(name: str, cpu: int = 8) -> NodeObserved:
    return NodeObserved(name=name, labels={HOSTNAME: name}, allocatable={"cpu": cpu, "pods": 20})


class DataCentre:
    """Three hosts of two flavors, and the ledger of who lies where."""

    def __init__(self) -> None:
        self.trail = Trail()
        self.flavors = {name: FlavorObserved(name=name, topology="dc") for name in (ONE, TWO)}
        self.topologies = {"dc": TopologyObserved(name="dc", levels=(HOSTNAME,))}
        self.nodes = {name: node(name) for name in HOSTS}
        self.node_usage: dict[str, dict[str, int]] = {}
        tables = DomainTables(
            flavors=self.flavors, topologies=self.topologies, nodes=self.nodes, node_usage=self.node_usage
        )
        self.usage = TopologyUsage(self.trail, tables)

    def free(self, flavor: str) -> list[int]:
        found = self.usage.room(flavor)
        assert found is not None
        return found.room.free("cpu")


def placement(flavor: str, hosts: dict[str, int], cpu: int = 1) -> TopologyPlacement:
    domains = tuple(TopologyDomain(values=(host,), count=count) for host, count in sorted(hosts.items()))
    return TopologyPlacement(
        flavor=flavor, requests={"cpu": cpu}, assignment=TopologyAssignment(levels=(HOSTNAME,), domains=domains)
    )


def assigned(flavor: str, hosts: dict[str, int]) -> list[PodSetAssignment]:
    return [PodSetAssignment(name="main", count=sum(hosts.values()), topology=placement(flavor, hosts))]


@given(STEPS, st.integers(0, 12))
def test_whatever_comes_and_goes_what_is_held_is_what_a_count_from_scratch_gives(
    steps: list[tuple[str, str, dict[str, int]]], undone: int
) -> None:
    centre, mark = DataCentre(), 0
    centre.free(ONE)
    for number, (workload, flavor, hosts) in enumerate(steps):
        if number == undone:
            mark = centre.trail.mark()
        if hosts:
            centre.usage.charge(workload, assigned(flavor, hosts))
        else:
            centre.usage.release(workload)
    if undone < len(steps):
        centre.trail.undo(mark)
    held = {workload: (flavor, hosts) for workload, flavor, hosts in steps[:undone]}
    afresh = DataCentre()
    for workload, (flavor, hosts) in held.items():
        if hosts:
            afresh.usage.charge(workload, assigned(flavor, hosts))
    assert (centre.free(ONE), centre.free(TWO)) == (afresh.free(ONE), afresh.free(TWO))
    assert centre.usage.held() == afresh.usage.held()


def test_what_is_only_tried_counts_for_its_own_flavor_and_is_gone_with_the_trial() -> None:
    centre = DataCentre()
    centre.usage.charge("old", assigned(ONE, {"x1": 2}))
    held = centre.usage.held_by("old")
    assert held is not None
    with centre.trail.trial():
        held.vacate()
        HeldDomains(centre.usage, (placement(TWO, {"x2": 3}),)).occupy()
        assert (centre.free(ONE), centre.free(TWO)) == ([8, 8, 8], [6, 5, 8])
    assert (centre.free(ONE), centre.free(TWO)) == ([6, 8, 8], [6, 8, 8])


def test_flavors_see_only_their_own_pods_where_the_gate_is_off() -> None:
    centre = DataCentre()
    centre.usage.charge("old", assigned(ONE, {"x1": 2}))
    centre.usage.use(overlapping=False)
    assert (centre.free(ONE), centre.free(TWO)) == ([6, 8, 8], [8, 8, 8])


def test_flavors_whose_leaves_are_wider_than_hosts_count_their_own_pods_and_no_others() -> None:
    centre = DataCentre()
    centre.topologies["dc"] = TopologyObserved(name="dc", levels=("rack",))
    centre.nodes["x1"] = replace(centre.nodes["x1"], labels={"rack": "r1"})
    levels = TopologyAssignment(levels=("rack",), domains=(TopologyDomain(values=("r1",), count=2),))
    held = TopologyPlacement(flavor=ONE, requests={"cpu": 1}, assignment=levels)
    centre.usage.charge("old", [PodSetAssignment(name="main", count=2, topology=held)])
    assert (centre.free(ONE), centre.free(TWO)) == ([6], [8])


def test_a_node_that_changes_comes_or_goes_changes_what_is_free_and_an_undo_brings_it_back() -> None:
    centre = DataCentre()
    centre.free(ONE)
    mark = centre.trail.mark()
    larger = node("x1", cpu=9)
    before = centre.nodes["x1"]
    centre.trail.put(centre.nodes, "x1", larger)
    centre.usage.node_changed(before, larger)
    assert centre.free(ONE) == [9, 8, 8]
    gone = replace(centre.nodes["x2"], ready=False)
    before = centre.nodes["x2"]
    centre.trail.put(centre.nodes, "x2", gone)
    centre.usage.node_changed(before, gone)
    assert centre.free(ONE) == [9, 8]
    centre.trail.undo(mark)
    assert centre.free(ONE) == [8, 8, 8]


def test_pods_that_no_queue_places_hold_their_part_of_a_node() -> None:
    centre = DataCentre()
    centre.free(ONE)
    centre.trail.put(centre.node_usage, "x3", {"cpu": 5})
    centre.usage.node_usage_changed("x3", {}, {"cpu": 5})
    assert centre.free(ONE) == [8, 8, 3]
    afresh = DataCentre()
    afresh.node_usage["x3"] = {"cpu": 5}
    assert afresh.free(ONE) == [8, 8, 3]


def test_placements_fit_while_each_domain_has_room_for_its_pods() -> None:
    centre = DataCentre()
    wanted = HeldDomains(centre.usage, (placement(ONE, {"x1": 4, "x2": 8}),))
    assert wanted.fit()
    centre.usage.charge("old", assigned(TWO, {"x2": 1}))
    assert not wanted.fit()
    assert not HeldDomains(centre.usage, (placement(ONE, {"x9": 1}),)).fit()


def test_placements_fit_beside_one_another_and_among_the_pods_of_their_nodes() -> None:
    centre = DataCentre()
    for flavor in (ONE, TWO):
        assert HeldDomains(centre.usage, (placement(ONE, {"x1": 4}), placement(flavor, {"x1": 4}))).fit()
        assert not HeldDomains(centre.usage, (placement(ONE, {"x1": 4}), placement(flavor, {"x1": 5}))).fit()
    centre.usage.use(overlapping=False)
    assert HeldDomains(centre.usage, (placement(ONE, {"x1": 8}), placement(TWO, {"x1": 8}))).fit()
    assert HeldDomains(centre.usage, (placement(ONE, {"x1": 20}, cpu=0),)).fit()
    assert not HeldDomains(centre.usage, (placement(ONE, {"x1": 21}, cpu=0),)).fit()


def test_no_columns_are_kept_for_a_flavor_that_is_gone_and_its_usage_counts_again_once_it_is_back() -> None:
    centre = DataCentre()
    kept = centre.usage.room(ONE)
    assert kept is not None and kept.room.usage is not None
    gone = centre.flavors.pop(ONE)
    centre.usage.flavor_gone(ONE)
    centre.usage.charge("a", assigned(TWO, {"x1": 2}))
    assert kept.room.usage.column("cpu") is None
    centre.flavors[ONE] = gone
    centre.usage.offers_changed()
    assert centre.free(ONE) == [6, 8, 8]


def test_an_assignment_that_lists_all_levels_counts_on_its_host_as_one_that_names_the_host_alone() -> None:
    at = DataCentre()
    at.topologies["dc"] = TopologyObserved(name="dc", levels=("rack", HOSTNAME))
    for name in HOSTS:
        at.nodes[name] = replace(at.nodes[name], labels={HOSTNAME: name, "rack": "r"})
    free = at.free(ONE)
    domain = TopologyDomain(values=("r", "x2"), count=3)
    listed = TopologyAssignment(levels=("rack", HOSTNAME), domains=(domain,))
    whole = TopologyPlacement(flavor=ONE, requests={"cpu": 1}, assignment=listed)
    at.usage.charge("a", [PodSetAssignment(name="main", count=3, topology=whole)])
    assert at.free(ONE) == at.free(TWO) == [free[0], free[1] - 3, free[2]], "hosts are shared"
    held = at.usage.held_by("a")
    assert held is not None and held.fit()
    held.vacate()
    assert at.free(ONE) == free
    held.occupy()
    at.usage.release("a")
    assert at.free(ONE) == at.free(TWO) == free
