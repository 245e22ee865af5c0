"""Nodes are asked for on behalf of every kind of job: a template for each pod set, and all of them take what comes."""

import asyncio
from typing import Any

import pytest

from events.api.labels import MANAGED
from events.job_kind import JobKind
from tests.stage.stage import Stage
from tests.stories.autoscaler import DEFINITION, answer, config, requests, require_nodes, templates
from tests.stories.job_samples import POD_SETS, SAMPLED
from tests.stories.test_job_kinds import Play, prepare
from tests.stories.test_pods import PODS, member

CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"


async def one_request(stage: Stage) -> dict[str, Any]:
    await stage.until(lambda: len(requests(stage)) == 1)
    (request,) = requests(stage).values()
    return request


@pytest.mark.parametrize("kind", SAMPLED, ids=lambda kind: kind.kind)
async def test_a_job_of_every_kind_waits_for_its_nodes(kind: JobKind, stage: Stage) -> None:
    async def play() -> None:
        played = Play(stage, kind)
        await played.submit("patient")
        request = await one_request(stage)
        name = request["metadata"]["name"]
        wanted = [f"ppt-{name}-{one}" for one in POD_SETS[kind.kind]]
        assert [one["podTemplateRef"]["name"] for one in request["spec"]["podSets"]] == wanted
        assert sorted(templates(stage)) == sorted(wanted)
        for one in templates(stage).values():
            spec = one["template"]["spec"]
            assert spec["nodeSelector"]["zone"] == "a" and spec["containers"]
        asked = request["spec"]["podSets"]
        counts = [one["count"] for one in played.workload("patient")["spec"]["podSets"]]
        assert [one["count"] for one in asked] == counts
        await answer(stage, request, Provisioned="there")
        await played.started("patient")
        assert str(played.job("patient")["spec"]).count(f"'{CONSUMES}': '{name}'") == len(wanted)

    await prepare(stage, kind)
    await stage.add(DEFINITION)
    await stage.add(config())
    await require_nodes(stage)
    stage.serve()
    await asyncio.wait_for(play(), 60)


@pytest.mark.parametrize("policy", ["IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements", None])
async def test_a_group_of_pods_is_asked_for_as_its_pods_describe_it(policy: str | None, stage: Stage) -> None:
    async def play() -> None:
        first, second = (member(name, "gang", 2, seconds=500) for name in ("g-0", "g-1"))
        second["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpucores"] = 50
        first["metadata"]["labels"]["role"] = "leader"
        for one in (first, second):
            await stage.client.create(PODS, "default", one)
        request = await one_request(stage)
        assert [one["count"] for one in request["spec"]["podSets"]] == [1, 1], "they ask for different cards"
        for one in templates(stage).values():
            assert "schedulingGates" not in one["template"]["spec"]
            assert one["metadata"]["labels"] == {MANAGED: "true"}
        await answer(stage, request, Provisioned="there")
        await stage.until(
            lambda: all(
                one.get("status", {}).get("phase") == "Running"
                and one["metadata"]["annotations"][CONSUMES] == request["metadata"]["name"]
                for one in stage.of("pods")
            )
        )

    await stage.add(DEFINITION)
    await stage.add(config(**({} if policy is None else {"podSetMergePolicy": policy})))
    await require_nodes(stage)
    stage.serve()
    await asyncio.wait_for(play(), 60)
