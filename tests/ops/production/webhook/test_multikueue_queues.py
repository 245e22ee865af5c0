"""Local queues that lead to other clusters, as they are known over HTTP.

Rule: docs/rules/multikueue.md#managed-by
"""

import asyncio
from pathlib import Path

from events.json_object import JsonObject
from ops.production.kubernetes.reflector import Reflector
from ops.production.webhook.default_local_queues import LOCAL_QUEUES
from ops.production.webhook.multikueue_queues import CHECKS, MultiKueueQueues
from tests.ops.production.webhook.test_https import cluster


def kueues(kind: str, name: str, namespace: str = "", **spec: object) -> JsonObject:
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": meta, "spec": spec}


async def until(queues: MultiKueueQueues, *, leads: bool) -> None:
    async with asyncio.timeout(120):
        while not queues.listed or queues.lead_elsewhere("team", "lq") is not leads:  # noqa: ASYNC110 - a watch tells it
            await asyncio.sleep(0.01)


async def test_a_queue_leads_elsewhere_while_its_cluster_queue_has_a_check_of_multikueue(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (embedded, client):
        queues = MultiKueueQueues(Reflector(client))
        watching = asyncio.create_task(queues.run())
        strategy = {"admissionChecks": [{"name": "other"}, {"name": "mk"}]}
        embedded.add(kueues("AdmissionCheck", "other", controllerName="example.com/other"))
        embedded.add(kueues("ClusterQueue", "cq", admissionChecksStrategy=strategy))
        await until(queues, leads=False)
        embedded.add(kueues("LocalQueue", "lq", "team", clusterQueue="cq"))
        embedded.add(kueues("AdmissionCheck", "mk", controllerName="kueue.x-k8s.io/multikueue"))
        await until(queues, leads=True)
        assert not queues.lead_elsewhere("team", "unknown") and not queues.lead_elsewhere("other", "lq")
        await client.delete(CHECKS, "", "mk")
        await until(queues, leads=False)
        embedded.add(kueues("AdmissionCheck", "mk", controllerName="kueue.x-k8s.io/multikueue"))
        await until(queues, leads=True)
        await client.delete(LOCAL_QUEUES, "team", "lq")
        await until(queues, leads=False)
        watching.cancel()
