"""People with different rights on an embedded cluster, each with a token, and a console that asks that cluster."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from events.json_object import JsonObject
from ops.console.gate import AskersAccess
from ops.console.identity import ByToken, Identity
from ops.console.rights_review import RightsReviews
from ops.console.sessions import Sessions
from ops.production.crds.definitions import manifests
from ops.production.kubernetes.client import KubeClient, connect
from ops.production.listeners.listener_limits import ConnectionLimiter, ListenerLimits
from ops.production.listeners.token_review import TokenReviews
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster

MINE, THEIRS, OTHERS = "mine", "theirs", "the-others"
NAMESPACES = (MINE, THEIRS, OTHERS)
RBAC = "rbac.authorization.k8s.io"
ACCOUNTS = "people"
PEOPLE = {"tenant": (MINE,), "viewer": (MINE, "queues"), "operator": ("workloads", "queues"), "stranger": ()}
"""What each may list: workloads of a namespace, all workloads, cluster queues."""


class People:
    """The cluster, and a token for each person."""

    def __init__(self, cluster: EmbeddedCluster, client: KubeClient) -> None:
        self.cluster, self.client = cluster, client
        self.tokens: dict[str, str] = {}
        self.time = 0.0

    def now(self) -> float:
        """A time that only a test lets pass."""
        return self.time

    def access(self, identity: Callable[[TokenReviews, Sessions], Identity] = ByToken) -> AskersAccess:
        """Rights as this cluster says."""
        known = identity(TokenReviews(self.client, self.now), Sessions(self.now))
        crowd = ConnectionLimiter(ListenerLimits(connections=64))
        return AskersAccess(identity=known, reviews=RightsReviews(self.client, self.now), crowd=crowd)

    def headers(self, who: str) -> dict[str, str]:
        """With which somebody asks."""
        return {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}

    def bind(self, who: str, role: str, namespace: str = "") -> None:
        """Give somebody a role, on the whole cluster or in a namespace."""
        subject = {"kind": "ServiceAccount", "name": who, "namespace": ACCOUNTS}
        self.cluster.add(
            {
                "apiVersion": f"{RBAC}/v1",
                "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
                "metadata": {"name": f"{who}-{role}", **({"namespace": namespace} if namespace else {})},
                "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
                "subjects": [subject],
            }
        )


def lister(plural: str) -> JsonObject:
    """A role that lets somebody list one kind."""
    rule = {"apiGroups": ["kueue.x-k8s.io"], "resources": [plural], "verbs": ["list"]}
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": plural}, "rules": [rule]}


@asynccontextmanager
async def people(folder: Path) -> AsyncGenerator[People, None]:
    """The cluster with everybody in it."""
    cluster = EmbeddedCluster(clock=ScaledClock(1), kubeconfig=folder / "kubeconfig")
    for one in manifests():
        cluster.add(one)
    for name in (*NAMESPACES, ACCOUNTS):
        cluster.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for plural in ("workloads", "clusterqueues"):
        cluster.add(lister(plural))
    await cluster.start()
    client = await connect(str(folder / "kubeconfig"))
    found = People(cluster, client)
    try:
        for who, may in PEOPLE.items():
            meta = {"name": who, "namespace": ACCOUNTS}
            cluster.add({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
            for what in may:
                if what == "queues":
                    found.bind(who, "clusterqueues")
                else:
                    found.bind(who, "workloads", "" if what == "workloads" else what)
            path = f"/api/v1/namespaces/{ACCOUNTS}/serviceaccounts/{who}/token"
            given = await client.request("POST", path, {"spec": {}})
            found.tokens[who] = given["status"]["token"]
        yield found
    finally:
        await client.close()
        await asyncio.shield(cluster.stop())
