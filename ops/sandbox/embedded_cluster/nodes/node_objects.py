"""Nodes for scenarios: GPU nodes as HAMi registers them, and plain ones."""

from typing import Any

import msgspec

from ops.sandbox.embedded_cluster.nodes.hami_dialects import DIALECTS, NVIDIA


def gpu_node(
    name: str,
    *,
    product: str,
    zone: str,
    cards: int,
    memory_mib: int,
    model: str,
    cores: int = 100,
    split: int = 0,
    vendor: str = NVIDIA.word,
    cpu: str = "96",
    memory: str = "768Gi",
) -> dict[str, Any]:
    """A node with so many cards of one model, each shared by up to `split` containers, or as many as is usual."""
    dialect = DIALECTS[vendor]
    split, uuid = split or dialect.split, "GPU" if dialect is NVIDIA else vendor
    registered = [
        {
            "id": f"{uuid}-{name}-{index}",
            "index": index,
            "count": split,
            "devmem": memory_mib,
            "devcore": cores,
            "type": model,
            "numa": index * 2 // cards,
            "mode": "hami-core",
            "health": True,
        }
        for index in range(cards)
    ]
    node = plain_node(name, cpu=cpu, memory=memory)
    node["metadata"]["labels"] |= {dialect.label: product, f"{dialect.count}.count": str(cards), "zone": zone}
    node["metadata"]["annotations"] = {dialect.register: msgspec.json.encode(registered).decode()}
    if dialect.handshake:
        node["metadata"]["annotations"][dialect.handshake] = "Reported 2026-01-01 00:00:00"
    node["status"]["allocatable"][dialect.count] = str(cards * split)
    node["status"]["capacity"] = node["status"]["allocatable"]
    node["spec"]["taints"] = [{"key": dialect.count, "effect": "NoSchedule"}]
    return node


def plain_node(name: str, *, zone: str = "", cpu: str = "32", memory: str = "128Gi") -> dict[str, Any]:
    """A node without cards."""
    labels = {"kubernetes.io/hostname": name, **({"zone": zone} if zone else {})}
    allocatable = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {
            "allocatable": allocatable,
            "capacity": allocatable,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }
