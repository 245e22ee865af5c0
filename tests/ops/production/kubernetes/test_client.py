"""One client among others: who it says it is, what it owns of an object, and how it bears an API server without time."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.runtime.cluster_port import AccessRefused, ObjectInvalid, Resource
from tests.ops.production.kubernetes.recording import Recording, recording
from tests.stage.api_server import STRANGER
from tests.stage.cluster import Cluster
from tests.stage.real import Real
from tests.stage.stage import job

JOBS = Resource(group="batch", plural="jobs", kind="Job")
MAPS = Resource(plural="configmaps", kind="ConfigMap")


@pytest.fixture
async def applier(cluster: Cluster) -> AsyncIterator[Recording]:
    """A client with the applier's rights."""
    await cluster.start()
    found = await recording(str(await cluster.kubeconfig_of("applier")), "applier")
    yield found
    await found.close()
    await cluster.stop()


async def test_writes_that_are_put_off_are_written_when_there_is_time(cluster: Cluster, applier: Recording) -> None:
    await cluster.add({**job("j", 1), "metadata": {"name": "j", "namespace": "default"}})
    async with cluster.overloaded("applier"):
        labels = [{"metadata": {"labels": {f"n{number}": "yes"}}} for number in range(20)]
        writing = asyncio.gather(*(applier.merge(JOBS, "default", "j", one) for one in labels))
        async with asyncio.timeout(60):
            while 429 not in [status for _, _, status in applier.answers]:  # noqa: ASYNC110 - the answer is waited for
                await asyncio.sleep(0.01)
        assert not writing.done()
    await asyncio.wait_for(writing, 60)
    assert len((await applier.get(JOBS, "default", "j"))["metadata"]["labels"]) >= len(labels)


async def test_fields_are_owned_by_kuelog_whichever_service_writes(cluster: Cluster, applier: Recording) -> None:
    await cluster.add({**job("j", 1), "metadata": {"name": "j", "namespace": "default"}})
    found = await applier.merge(JOBS, "default", "j", {"metadata": {"labels": {"ours": "b"}}})
    owners = [one["manager"] for one in found["metadata"]["managedFields"] if "f:ours" in str(one["fieldsV1"])]
    assert owners == ["kuelog"]


async def test_a_missing_right_is_told_from_a_refused_object(tmp_path: Path, real: Real) -> None:
    assert real.installation.server is not None
    await real.start()
    (tmp_path / "stranger").write_text(real.installation.server.kubeconfig_of(STRANGER))
    (tmp_path / "nobody").write_text(real.installation.server.kubeconfig_of("nobody's"))
    stranger, nobody = [await recording(str(tmp_path / one)) for one in ("stranger", "nobody")]
    admin = await recording(str(real.kubeconfig))
    try:
        for client in (stranger, nobody):
            with pytest.raises(AccessRefused, match=r"cannot get resource|Unauthorized"):
                await client.get(MAPS, "default", "m")
            assert len(client.answers) == 1, "it is not asked again and again"
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "team"}}
        await real.add({**quota, "spec": {"hard": {"count/configmaps": "0"}}})
        with pytest.raises(ObjectInvalid, match="exceeded quota"):
            async with asyncio.timeout(120):
                while True:  # Until the API server has seen the quota.
                    made = await admin.create(MAPS, "team", {"metadata": {"generateName": "m-"}})
                    await admin.delete(MAPS, "team", made["metadata"]["name"])
    finally:
        for client in (stranger, nobody, admin):
            await client.close()
        await real.stop()
