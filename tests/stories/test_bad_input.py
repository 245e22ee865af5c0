"""Objects that can't be understood say so where they live in the cluster, and everything else goes on."""

import asyncio
from pathlib import Path

from ops.wiring import SERVICES
from tests.stories.test_kills import Stage, job

QUEUE = {"kueue.x-k8s.io/queue-name": "team"}


def with_memory(name: str, memory: str) -> dict[str, object]:
    value = job(name, 1)
    container = value["spec"]["template"]["spec"]["containers"][0]  # type: ignore[index]
    container["resources"]["limits"]["nvidia.com/gpumem"] = memory
    return value


async def test_a_job_that_cannot_be_understood_gets_an_event_and_the_others_run(tmp_path: Path) -> None:
    async with Stage(tmp_path) as stage:
        stage.serve(*SERVICES, replica="all")
        stage.cluster.add(with_memory("gibi", "16Gi"))
        stage.cluster.add(with_memory("negative", "-5"))
        lost = job("lost", 1)
        lost["metadata"] |= {"labels": {"kueue.x-k8s.io/queue-name": "nowhere"}}  # type: ignore[operator]
        stage.cluster.add(lost)
        stage.cluster.add(job("good", 1))

        def told() -> dict[str, str]:
            return {
                event["involvedObject"]["name"]: event["message"]
                for event in stage.cluster.store.of("events").values()
                if event["reason"] == "Refused"
            }

        await asyncio.wait_for(
            stage.until("jobs", lambda: stage.complete("good") and {"gibi", "negative"} <= set(told())), 40
        )
        assert "nvidia.com/gpumem" in told()["gibi"] and "16384" in told()["gibi"]
        assert "negative" in told()["negative"] or "at least 0" in told()["negative"]

        def condition() -> str:
            for value in stage.cluster.store.of("workloads.kueue.x-k8s.io").values():
                if value["metadata"]["name"].startswith("job-lost"):
                    for one in value.get("status", {}).get("conditions", ()):
                        if one["type"] == "QuotaReserved":
                            return str(one["message"])
            return ""

        await asyncio.wait_for(stage.until("workloads", lambda: bool(condition())), 40)
        assert condition() == "LocalQueue nowhere doesn't exist"
