"""Node pools as people write them, and what a cluster begins with."""

from pathlib import Path

import pytest

from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.scenario.node_pools import NodesBroken, begin_with_nodes, nodes_and_cards, read_pools
from tests.places import ROOT

POOL = "count: 2, prefix: big, product: H100, cards: 4, memoryMiB: 81920, model: NVIDIA-H100"


def nodes_of(text: str, folder: Path) -> EmbeddedCluster:
    path = folder / "nodes.yaml"
    path.write_text(text)
    cluster = EmbeddedCluster(controllers=False)
    begin_with_nodes(cluster, read_pools(path))
    return cluster


def test_a_cluster_begins_with_the_cards_of_the_demo_and_a_node_for_what_asks_for_none() -> None:
    cluster = EmbeddedCluster(controllers=False)
    begin_with_nodes(cluster, None)
    assert nodes_and_cards(cluster) == "7 nodes with 48 cards"
    assert not cluster.store.get("nodes", ("", "cpu-1"))["spec"]  # type: ignore[index] - it is there


def test_pools_are_read_from_a_scenario_as_well_as_from_a_file_of_their_own(tmp_path: Path) -> None:
    assert [pool.count for pool in read_pools(ROOT / "examples/ai-platform/scenario.yaml")] == [4, 2]
    cluster = nodes_of(f"nodes:\n- {{{POOL}}}\n- {{count: 1, prefix: cpu}}\n", tmp_path)
    assert nodes_and_cards(cluster) == "3 nodes with 8 cards"


def test_no_pool_is_no_node_and_a_cluster_that_has_nodes_keeps_them(tmp_path: Path) -> None:
    cluster = EmbeddedCluster(controllers=False)
    begin_with_nodes(cluster, ())
    assert nodes_and_cards(cluster) == "0 nodes with 0 cards"
    cluster = nodes_of("nodes: [{count: 1, prefix: cpu}]", tmp_path)
    begin_with_nodes(cluster, None)
    assert nodes_and_cards(cluster) == "1 node with 0 cards"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nodes: [{count: 1, prefix: a, cards: 8}]", "pool a has cards: say their product, memoryMiB, model too"),
        (f"nodes: [{{{POOL}, vendr: AMD}}]", "vendr"),
        ("nodes: [{prefix: a}]", "count"),
        ("nodes: [{count: 0, prefix: a}]", ">= 1"),
        ("pools: []", "nodes"),
        ("nodes: [", "nodes.yaml"),
        ("- {count: 1, prefix: cpu}", "object"),
    ],
)
def test_pools_that_can_t_be_meant_are_one_clear_message(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(NodesBroken) as broken:
        nodes_of(text, tmp_path)
    assert told in str(broken.value) and "\n" not in str(broken.value)
