"""What is listed of a cluster that is taken over."""

from typing import Any

import pytest

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.production.kubernetes.client import KubeClient
from ops.production.migration import FoundObjects, differences, running
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.world import World
from services.provisioning_kinds import REQUESTS
from services.runtime.cluster_port import Listed
from services.watcher.view import View
from tests.services.watcher.jobs.test_found_workloads import elastic, slice_of_kueue

REQUEST = {"metadata": {"name": "a-nodes-1", "namespace": "team", "uid": "r1"}}


class Answers(KubeClient):
    """An API server that has these objects, by the plural of their kind, and says what it was asked for."""

    def __init__(self, **there: list[Any]) -> None:
        self.there, self.asked = there, list[str]()

    async def request(self, method: str, path: str, *_: object, **__: object) -> JsonObject:
        plural = path.partition("?")[0].rpartition("/")[2]
        self.asked.append(plural)
        return {"items": self.there.get(plural, []), "metadata": {"resourceVersion": "7"}}


def definition(name: str, version: str) -> JsonObject:
    return {"metadata": {"name": name}, "spec": {"versions": [{"name": version, "served": True}]}}


async def test_what_an_autoscaler_was_asked_for_is_found_and_shown() -> None:
    there = Answers(
        customresourcedefinitions=[definition("provisioningrequests.autoscaling.x-k8s.io", "v1")],
        provisioningrequests=[REQUEST],
    )
    found = FoundObjects(there, SettingsObserved())
    await found.take()
    assert [one async for one in found.watch(REQUESTS)] == [Listed([REQUEST], "7")]


async def test_every_kind_is_listed_that_the_watcher_looks_at_once_it_is_installed() -> None:
    there = Answers(
        customresourcedefinitions=[
            definition("trainingruntimes.trainer.kubeflow.org", "v1alpha1"),
            definition("leaderworkersets.leaderworkerset.x-k8s.io", "v1"),
        ]
    )
    serving = "leaderworkerset.x-k8s.io/leaderworkerset"
    await FoundObjects(there, SettingsObserved(frameworks=("batch/job", "pod", serving))).take()
    assert {"trainingruntimes", "leaderworkersets"} <= set(there.asked)


FIRST = slice_of_kueue("job-j-first", count=2, given=2, over="WorkloadSliceReplaced")
SECOND = slice_of_kueue("job-j-second", replaces="job-j-first", count=4, given=4)


@pytest.mark.parametrize("slices", [[FIRST, SECOND], [SECOND]])
async def test_an_elastic_job_that_has_grown_runs_with_the_quota_of_its_last_slice(slices: list[JsonObject]) -> None:
    settings = SettingsObserved(gates={"ElasticJobsViaWorkloadSlices": True})
    found, view, world = (
        FoundObjects(Answers(workloads=slices, jobs=[elastic(4)]), settings),
        View(settings=settings),
        World(),
    )
    await found.take()
    told = [fact for one in slices for fact in view.see("Workload", one)]
    for sequence, fact in enumerate([settings, *told, *view.see("Job", elastic(4))], 1):
        evolve(world, fact, LogPosition(partition="FACTS", sequence=sequence, at=sequence))
    assert [place for place, _ in running(found, view)] == ["Job/team/j"]
    assert differences(found, view, world) == []
