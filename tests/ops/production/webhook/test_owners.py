"""Owners of new objects, asked for at the door."""

from typing import Any

import pytest

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.kubernetes.reflector import Reflector
from ops.production.listeners.certificate import Certificate
from ops.production.webhook.default_local_queues import DefaultLocalQueues
from ops.production.webhook.owners import Owners
from ops.production.webhook.review import read_review
from ops.production.webhook.server import served_webhooks, webhook_app
from services.jobs.kinds.managed_kinds import kinds_of
from services.runtime.cluster_port import AccessRefused, ClusterUnavailable, Resource
from tests.ops.production.webhook.test_https import ANYWHERE, Now, ask, cluster, told, trust_of
from tests.ops.production.webhook.test_review import NAMED, job, review

OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}


def pod(labels: JsonObject | None = None, **meta: Any) -> JsonObject:
    made = {"name": "p", "namespace": "team", "labels": NAMED if labels is None else labels, **meta}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"ownerReferences": [OWNER], **made}, "spec": spec}


async def test_the_door_holds_a_pod_with_a_queue_whose_job_names_none(tmp_path: Any) -> None:
    async with cluster(tmp_path) as (embedded, client):
        certificate, known = Certificate(), DefaultLocalQueues(Reflector(client))
        owners = Owners(client, kinds_of(SettingsObserved()))
        app = webhook_app(SettingsObserved(), known, ANYWHERE, known.listed.is_set, owners=owners)
        held = await trust_of(client, Now()).look()
        certificate.show(held.certificate, held.key)
        async with served_webhooks(app, certificate, 0, "127.0.0.1") as port:
            question = review("Pod", pod(), group="")
            for labels, waits in (({}, True), (NAMED, False)):
                embedded.add(job(labels))
                answer = await ask(port, await told(client), "/mutate", question)
                assert ("patch" in answer["response"]) == waits
                await client.delete(Resource(group="batch", plural="jobs", kind="Job"), "team", "j", at_once=True)


class Shut(AbsentCluster):
    """An API server that answers every question in the same way."""

    def __init__(self, problem: ClusterUnavailable) -> None:
        self.problem = problem

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        raise self.problem


async def test_who_may_not_look_goes_by_the_kind_of_the_owner_and_who_gets_no_answer_gives_none() -> None:
    asked = read_review(review("Pod", pod(), group=""))
    kinds = kinds_of(SettingsObserved())
    assert await Owners(Shut(AccessRefused("jobs")), kinds).manage(asked) is None
    with pytest.raises(ClusterUnavailable):
        await Owners(Shut(ClusterUnavailable("gone")), kinds).manage(asked)
    unnamed = read_review(review("Pod", pod({}), group=""))
    assert await Owners(Shut(ClusterUnavailable("gone")), kinds).manage(unnamed) is None, "nobody has to look"
