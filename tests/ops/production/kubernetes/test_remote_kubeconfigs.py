"""Kubeconfigs of worker clusters that may be used, and that no client can be made of."""

import json
from typing import Any

import pytest

from ops.production.kubernetes.remote import KubeConnector
from services.runtime.cluster_port import ClusterUnavailable


def kubeconfig(user: dict[str, Any] | None = None, **cluster: Any) -> str:
    found = {"server": "https://127.0.0.1:1", **cluster}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "w", "cluster": found}],
            "users": [{"name": "m", "user": user or {"token": "t"}}],
            "contexts": [{"name": "c", "context": {"cluster": "w", "user": "m"}}],
            "current-context": "c",
        }
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (kubeconfig(**{"certificate-authority-data": "eA=="}), "no certificate"),
        (kubeconfig({"client-certificate-data": "eA==", "client-key-data": "eA=="}), "."),
        (kubeconfig(**{"certificate-authority-data": ["x"]}), "the kubeconfig can't be read"),
        (kubeconfig(server=["x"]), "the kubeconfig can't be read"),
        ("clusters: 7", "."),
    ],
)
async def test_what_no_client_can_be_made_of_says_so(text: str, problem: str) -> None:
    with pytest.raises(ClusterUnavailable, match=problem):
        await KubeConnector("default").connect(text)
