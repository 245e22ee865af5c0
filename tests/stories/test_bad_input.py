"""Objects that can't be understood say so where they live in the cluster, and everything else goes on."""

import asyncio

import pytest

from services.runtime.cluster_port import ObjectInvalid
from tests.stage.stage import Stage, job

QUEUE = {"kueue.x-k8s.io/queue-name": "team"}


def with_memory(name: str, memory: str) -> dict[str, object]:
    value = job(name, 1)
    container = value["spec"]["template"]["spec"]["containers"][0]  # type: ignore[index]
    container["resources"]["limits"]["nvidia.com/gpumem"] = memory
    return value


async def test_a_job_that_cannot_be_understood_gets_an_event_and_the_others_run(stage: Stage) -> None:
    stage.serve()
    await stage.add(with_memory("gibi", "16Gi"))
    for memory in ("-5", "lots", "1.5"):
        with pytest.raises(ObjectInvalid):
            await stage.add(with_memory("broken", memory))
    lost = job("lost", 1)
    lost["metadata"] |= {"labels": {"kueue.x-k8s.io/queue-name": "nowhere"}}  # type: ignore[operator]
    await stage.add(lost)
    await stage.add(job("good", 1))

    def told() -> dict[str, str]:
        return {
            event["involvedObject"]["name"]: event["message"]
            for event in stage.of("events")
            if event["reason"] == "ErrWorkloadCompose"
        }

    await asyncio.wait_for(stage.until(lambda: stage.complete("good") and "gibi" in told()), 40)
    assert "nvidia.com/gpumem" in told()["gibi"] and "16384" in told()["gibi"]

    def condition() -> str:
        for value in stage.of("workloads.kueue.x-k8s.io"):
            if value["metadata"]["name"].startswith("job-lost"):
                for one in value.get("status", {}).get("conditions", ()):
                    if one["type"] == "QuotaReserved":
                        return str(one["message"])
        return ""

    await asyncio.wait_for(stage.until(lambda: bool(condition())), 40)
    assert condition() == "LocalQueue nowhere doesn't exist"
