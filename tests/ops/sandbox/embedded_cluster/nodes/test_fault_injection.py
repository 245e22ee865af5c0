"""What befalls cards and nodes of the embedded cluster, and how HAMi's stand-in chooses."""

import asyncio

import pytest

from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.embedded_cluster.failures import ApiFailure
from ops.sandbox.embedded_cluster.nodes.fault_injection import set_card_health, set_node_ready
from ops.sandbox.embedded_cluster.nodes.hami import HamiNodes
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node
from projections.devices.registration.node_cards import cards_on

CARDS = {"product": "V100", "zone": "z", "cards": 2, "memory_mib": 32768, "model": "NVIDIA-V100"}


def cluster() -> EmbeddedCluster:
    made = EmbeddedCluster(clock=ScaledClock(20.0))
    for name in ("n1", "n2"):
        made.add(gpu_node(name, **CARDS))  # type: ignore[arg-type]
    return made


def pod(name: str, memory: str, **annotations: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": {"kuelog.io/run-seconds": "4", **annotations},
        },
        "spec": {
            "tolerations": [{"operator": "Exists"}],
            "containers": [
                {
                    "name": "c",
                    "image": "x",
                    "resources": {"limits": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": memory}},
                }
            ],
        },
    }


async def settled(made: EmbeddedCluster, name: str, *phases: str) -> dict[str, object]:
    for _ in range(400):
        found = made.store.get("pods", ("default", name))
        if found is not None and found["status"]["phase"] in phases:
            return found
        await asyncio.sleep(0.02)
    raise AssertionError(f"{name} never came to {phases}: {found}")


def test_a_card_that_fails_is_reported_so_and_no_other() -> None:
    made = cluster()
    set_card_health(made.store, "n1", "GPU-n1-1", healthy=False)
    node = made.store.get("nodes", ("", "n1"))
    assert node is not None
    assert [card.healthy for card in cards_on("n1", node["metadata"]["annotations"], {}).cards] == [True, False]
    with pytest.raises(ApiFailure):
        set_card_health(made.store, "n1", "GPU-n2-0", healthy=False)
    with pytest.raises(ApiFailure):
        set_node_ready(made.store, "nowhere", ready=False)


async def test_nothing_is_heard_of_pods_on_a_lost_node_until_it_is_back() -> None:
    made = cluster()
    await made.start()
    try:
        made.add(pod("p", "1000"))
        running = await settled(made, "p", "Running")
        node = running["spec"]["nodeName"]  # type: ignore[index]
        set_node_ready(made.store, node, ready=False)
        await asyncio.sleep(0.5)
        found = made.store.get("pods", ("default", "p"))
        assert found is not None and found["status"]["phase"] == "Running", "ten seconds of its time have passed"
        made.add(pod("q", "1000"))
        elsewhere = await settled(made, "q", "Running", "Succeeded")
        assert elsewhere["spec"]["nodeName"] != node  # type: ignore[index]
        set_node_ready(made.store, node, ready=True)
        await settled(made, "p", "Succeeded")
    finally:
        await made.stop()


async def test_hami_keeps_to_pins_and_chooses_by_the_policy_that_a_pod_names() -> None:
    made = cluster()
    await made.start()
    try:
        made.add(pod("a", "10000", **{"nvidia.com/use-gpuuuid": "GPU-n2-1"}))
        await settled(made, "a", "Running")
        assert HamiNodes(made.store).taken("n2") == {"GPU-n2-1": (1, 10000, 0)}
        both = {"nvidia.com/use-gpuuuid": "GPU-n2-0,GPU-n2-1"}
        made.add(pod("b", "1000", **both, **{"hami.io/gpu-scheduler-policy": "binpack"}))
        await settled(made, "b", "Running")
        made.add(pod("c", "1000", **both))
        await settled(made, "c", "Running")
        assert HamiNodes(made.store).taken("n2") == {"GPU-n2-1": (2, 11000, 0), "GPU-n2-0": (1, 1000, 0)}
    finally:
        await made.stop()


async def test_a_deleted_pod_that_somebody_holds_ends_and_stays_until_it_is_let_go() -> None:
    made = cluster()
    await made.start()
    try:
        held = pod("held", "1000", **{"kuelog.io/termination-seconds": "1"})
        held["metadata"]["finalizers"] = ["a/b"]  # type: ignore[index]
        made.add(held)
        await settled(made, "held", "Running")
        kind, name = made.resources.kind("", "v1", "pods"), ("default", "held")
        made.resources.delete(kind, name)
        found = await settled(made, "held", "Failed")
        free = {**found, "metadata": {**found["metadata"], "finalizers": []}}  # type: ignore[dict-item]
        made.resources.update(kind, name, free)
        assert made.store.get("pods", name) is None
        made.add({**pod("free", "1000"), "spec": held["spec"]})
        await settled(made, "free", "Running")
        made.resources.delete(kind, ("default", "free"))
        found = made.store.get("pods", ("default", "free"))
        assert found is not None, "its node takes it away, nobody else"
        made.resources.update(kind, ("default", "free"), found)
        assert made.store.get("pods", ("default", "free")) is not None
    finally:
        await made.stop()


async def test_a_namespace_ends_with_all_that_is_in_it_and_takes_nothing_in_meanwhile() -> None:
    made = cluster()
    await made.start()
    changes = made.store.watch()
    try:
        made.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "doomed"}})
        maps = made.resources.kind("", "v1", "configmaps")
        for name, finalizers in (("free", []), ("held", ["a/b"])):
            meta = {"name": name, "namespace": "doomed", "finalizers": finalizers}
            made.add({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
        made.resources.delete(made.resources.kind("", "v1", "namespaces"), ("", "doomed"))
        while made.store.get(maps.key, ("doomed", "free")) is not None:
            await asyncio.wait_for(changes.get(), 10)
        assert made.store.get("namespaces", ("", "doomed")) is not None, "something is left in it"
        with pytest.raises(ApiFailure, match="being terminated"):
            made.add({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late", "namespace": "doomed"}})
        held = made.store.get(maps.key, ("doomed", "held"))
        assert held is not None
        free = {**held, "metadata": {**held["metadata"], "finalizers": []}}
        made.resources.update(maps, ("doomed", "held"), free)
        while made.store.get("namespaces", ("", "doomed")) is not None:
            await asyncio.wait_for(changes.get(), 10)
    finally:
        made.store.unwatch(changes)
        await made.stop()
