"""Which cluster and which namespace a command of kueuectl's kind means, and what is there."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec

from events.json_object import JsonObject
from ops.cli.kubectl.nouns import Noun
from ops.production.kubernetes.client import KubeClient, KubeConfigMissing, connect, path_of
from ops.production.kubernetes.official_client import kube_config

T = TypeVar("T")


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Which cluster and which namespace are meant."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""

    def files(self) -> str:
        """The kubeconfig; empty inside a cluster, where the service account does."""
        home = Path.home() / ".kube" / "config"
        return self.kubeconfig or os.environ.get("KUBECONFIG", "") or (str(home) if home.exists() else "")

    def is_there(self) -> bool:
        """Whether there is a kubeconfig, be it one of several that are named."""
        return any(Path(one).exists() for one in self.files().split(os.pathsep) if one)

    def space(self) -> str:
        """The namespace that is meant."""
        if self.namespace or not self.is_there():
            return self.namespace or "default"
        try:
            found: Any = kube_config.list_kube_config_contexts(config_file=self.files())
        except Exception:  # noqa: BLE001 - the official client fails anyhow on what is no kubeconfig; who connects says so
            return "default"
        contexts, active = found
        named = next((one for one in contexts if one["name"] == self.context), None) if self.context else active
        return str(((named or {}).get("context") or {}).get("namespace") or "default")


async def connected(where: Where, work: Callable[[KubeClient], Awaitable[T]]) -> T:
    """Run something against the cluster. Raises `KubeConfigMissing` and what asking an API server raises."""
    files = where.files()
    if files and not where.is_there():
        raise KubeConfigMissing(f"there is no file {files}")
    client = await connect(files, where.context, service="kubectl")
    try:
        return await work(client)
    finally:
        await client.close()


async def asked(where: Where, noun: Noun, namespace: str) -> list[str]:
    """The names of all objects of a kind; in all namespaces when none is named. Raises what asking an API server raises."""
    found = await connected(where, lambda client: listed(client, noun, namespace))
    return [one["metadata"]["name"] for one in found]


async def listed(
    client: KubeClient, noun: Noun, namespace: str, *, labels: str = "", fields: str = ""
) -> list[dict[str, Any]]:
    """All objects of a kind, page by page; in all namespaces when none is named."""
    found: list[JsonObject] = []
    token = ""
    while True:
        query = {"limit": "500", "labelSelector": labels, "fieldSelector": fields, "continue": token}
        text = urlencode({name: value for name, value in query.items() if value})
        page = await client.request("GET", f"{path_of(noun.resource, namespace)}?{text}")
        found += [{**_kind(noun), **one} for one in page.get("items") or ()]
        token = (page.get("metadata") or {}).get("continue") or ""
        if not token:
            return found


def _kind(noun: Noun) -> JsonObject:
    return {"apiVersion": noun.api_version, "kind": noun.resource.kind}
