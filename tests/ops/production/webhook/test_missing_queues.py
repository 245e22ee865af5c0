"""Jobs that name a local queue that is not there: taken or refused at the door, as is configured."""

import asyncio
from pathlib import Path

import pytest

from events.json_object import JsonObject
from events.settings import MissingQueuePolicy, SettingsObserved
from ops.production.configuration.configuration_file import read_configuration
from ops.production.kubernetes.client import KubeClient
from ops.production.kubernetes.reflector import Reflector
from ops.production.listeners.certificate import Certificate
from ops.production.webhook.default_local_queues import LOCAL_QUEUES, DefaultLocalQueues, MissingQueues
from ops.production.webhook.review import read_review
from ops.production.webhook.server import served_webhooks, webhook_app
from tests.ops.production.webhook.test_https import ANYWHERE, Now, ask, cluster, trust_of
from tests.ops.production.webhook.test_https import told as authorities
from tests.ops.production.webhook.test_review import job, queue, review

QUEUE = "kueue.x-k8s.io/queue-name"
OWNED = {"ownerReferences": [{"kind": "CronJob", "name": "c", "controller": True}]}


def local_queue(name: str) -> JsonObject:
    meta = {"name": name, "namespace": "team"}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": meta,
        "spec": {"clusterQueue": "cq"},
    }


def named(name: str, **meta: object) -> JsonObject:
    return job({QUEUE: name} if name else {}, **meta)


async def told(missing: MissingQueues, value: JsonObject, old: JsonObject | None = None, group: str = "batch") -> str:
    found = await missing.problems_of(read_review(review("Job", value, group=group, old=old)))
    return "; ".join(f"{one.field}: {one.what}" for one in found)


async def test_a_job_of_a_queue_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (embedded, client):
        known = DefaultLocalQueues(Reflector(client))
        missing = MissingQueues(known, client, MissingQueuePolicy.REFUSE)
        nowhere = f"metadata.labels[{QUEUE}]: there is no LocalQueue lq in namespace team"
        assert await told(missing, named("lq")) == f"{nowhere}; there are none"
        assert "there is no LocalQueue ../secrets/x in" in await told(missing, named("../secrets/x")), "nobody is asked"
        for name in ("other", "default"):
            embedded.add(local_queue(name))
        watching = asyncio.create_task(known.run())
        await known.listed.wait()
        assert await told(missing, named("lq")) == f"{nowhere}; there are: default, other"
        assert await told(missing, named("other")) == ""
        await _and_of_those_that_change(missing, nowhere)
        watching.cancel()


async def _and_of_those_that_change(missing: MissingQueues, nowhere: str) -> None:
    assert (await told(missing, named("lq"), old=named("other"))).startswith(nowhere), "it wants to go there"
    assert await told(missing, named("lq"), old=named("lq")) == "", "it is there already"
    assert await told(missing, named(""), old=named("lq")) == ""
    assert await told(missing, named("lq", **OWNED)) == "", "its owner was asked"
    assert await told(missing, named("lq", deletionTimestamp="2026-01-01T00:00:00Z"), old=named("x")) == ""
    assert await told(missing, queue(), group="kueue.x-k8s.io") == ""


async def test_a_queue_that_was_made_just_before_the_job_is_found_though_the_watch_has_not_told_of_it(
    tmp_path: Path,
) -> None:
    async with cluster(tmp_path) as (embedded, client):
        missing = MissingQueues(DefaultLocalQueues(Reflector(client)), client, MissingQueuePolicy.REFUSE)
        embedded.add(local_queue("lq"))
        assert await told(missing, named("lq")) == ""


async def test_the_door_answers_with_it(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (_, client):
        certificate, known = Certificate(), DefaultLocalQueues(Reflector(client))
        missing = MissingQueues(known, client, MissingQueuePolicy.REFUSE)
        app = webhook_app(SettingsObserved(), known, ANYWHERE, known.listed.is_set, missing=missing)
        held = await trust_of(client, Now()).look()
        certificate.show(held.certificate, held.key)
        async with served_webhooks(app, certificate, 0, "127.0.0.1") as port:
            answer = await ask(port, await authorities(client), "/validate", review("Job", named("lq"), group="batch"))
        assert "there is no LocalQueue lq" in answer["response"]["status"]["message"]


async def test_without_the_policy_jobs_wait_for_their_queue_and_nobody_is_asked(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (_, client):
        missing = MissingQueues(DefaultLocalQueues(Reflector(client)), client, MissingQueuePolicy.WAIT)
        assert await told(missing, named("lq")) == ""


async def test_the_watch_follows_queues_that_come_and_go(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (embedded, client):
        known = DefaultLocalQueues(Reflector(client))
        watching = asyncio.create_task(known.run())
        await known.listed.wait()
        embedded.add(local_queue("default"))
        await _until(known, {"default"})
        assert known.open == {"team"}
        await gone(client, "default")
        await _until(known, set())
        assert known.open == set()
        watching.cancel()


async def gone(client: KubeClient, name: str) -> None:
    await client.delete(LOCAL_QUEUES, "team", name)


async def _until(known: DefaultLocalQueues, names: set[str]) -> None:
    async with asyncio.timeout(120):
        while known.names.get("team", set()) != names:  # noqa: ASYNC110 - the watch itself is what is waited for
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(("text", "policy"), [("{}", "Wait"), ("{missingLocalQueues: Refuse}", "Refuse")])
def test_the_configuration_says_which(tmp_path: Path, text: str, policy: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        f"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nkuelog: {text}\n", encoding="utf-8"
    )
    assert read_configuration(file).settings.missing_queues == policy
