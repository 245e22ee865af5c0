"""A budget over a divided log on a real bus: what jobs of a namespace use in two partitions counts in both.

Rule: docs/rules/budgets.md#partitions
"""

import asyncio
import json

from events.budget import BudgetUsePassedOn
from events.codec import decode_commit
from events.json_object import JsonObject
from events.partition_map import TreePlacement
from ops.production.archive.history import read_everything
from ops.production.log.partitioning import divide
from ops.production.log.streams import streams_in
from ops.queries.replay import fold_partition, fold_up
from projections.budgets.amounts import number_of
from projections.budgets.budget_usage import HOUR, BudgetUsage
from services.runtime.cluster_port import Resource
from tests.stage.stage import SCALE, Stage, job
from tests.stories.partition_process import begin
from tests.stories.test_partitions import cli, ended, has_status, queue

GPU, SPACE = "nvidia.com/gpu", "shared"
QUEUES = ("a", "b")
CHECK = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "AdmissionCheck",
    "metadata": {"name": "budget"},
    "spec": {"controllerName": "kuelog.io/budget"},
}
NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": SPACE, "annotations": {"kuelog.io/budget": f"{GPU}=1000h per month"}},
}


def small(name: str, queue_name: str, seconds: int) -> JsonObject:
    """A job of which two find room on a card."""
    value = job(name, seconds)
    value["metadata"]["namespace"] = SPACE
    value["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = queue_name
    limits = value["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    limits.update({"nvidia.com/gpumem": 10000, "nvidia.com/gpucores": 30})
    return value


def waits_for_the_budget(stage: Stage, name: str) -> bool:
    """Whether the Workload of a job says that the budget is used up."""
    return any(
        "is used up" in condition["message"]
        for one in stage.of("workloads.kueue.x-k8s.io")
        if any(owner["name"] == name for owner in one["metadata"].get("ownerReferences", ()))
        for condition in one.get("status", {}).get("conditions", ())
    )


def is_used_up(stage: Stage, queue_name: str) -> bool:
    """Whether a local queue shows that a budget is used up that counts in it."""
    shown = stage.get("localqueues.kueue.x-k8s.io", SPACE, queue_name).get("status", {}).get("conditions", ())
    return any(one["type"] == "WithinBudget" and one["reason"] == "BudgetExhausted" for one in shown)


async def used_in_each(stage: Stage) -> list[BudgetUsage]:
    """What each partition has counted itself by now."""
    entries = await read_everything(stage.bus)
    worlds = [fold_up(name, entries).world for name in streams_in(entries).trees]
    return [world.budgets[f"Namespace/{SPACE}"] for world in worlds]


async def give(stage: Stage, budget: str) -> None:
    """Give the namespace another budget."""
    await stage.client.merge(
        Resource(plural="namespaces", kind="Namespace", namespaced=False),
        "",
        SPACE,
        {"metadata": {"annotations": {"kuelog.io/budget": budget}}},
    )


async def test_jobs_of_a_namespace_in_two_partitions_together_use_its_budget_up(stage: Stage) -> None:
    placements = [TreePlacement(tree=f"queue/{name}", partition=number) for number, name in enumerate(QUEUES)]
    await divide(stage.bus, len(QUEUES), stage.clock.now(), placements)
    await stage.add(NAMESPACE)
    await stage.add(CHECK)
    for name in QUEUES:
        cluster_queue, local_queue = queue(name)
        cluster_queue["spec"]["admissionChecksStrategy"] = {"admissionChecks": [{"name": "budget"}]}  # pyright: ignore[reportIndexIssue]
        local_queue["metadata"]["namespace"] = SPACE  # pyright: ignore[reportIndexIssue]
        await stage.add(cluster_queue)
        await stage.add(local_queue)
    halves = [begin(stage.server.url, (name,), SCALE) for name in ("LOG_0", "LOG_1")]
    try:
        stage.serve("watcher", "accountant", "applier")
        async with asyncio.timeout(120):
            await stage.until(lambda: all(has_status(stage, SPACE, name) for name in QUEUES))
        for name in QUEUES:
            await stage.add(small(f"first-{name}", name, 5))
        async with asyncio.timeout(120):
            await stage.until(lambda: all(ended(stage, SPACE, f"first-{name}") for name in QUEUES))
        each = await used_in_each(stage)
        while any(usage.running for usage in each):
            each = await used_in_each(stage)
        amounts = [usage.amounts[GPU] for usage in each]
        limit = (max(amounts) + sum(amounts)) // 2
        await give(stage, f"{GPU}={limit / HOUR:.5f}h per month")
        async with asyncio.timeout(120):
            await stage.until(lambda: all(is_used_up(stage, name) for name in QUEUES))
        for name in QUEUES:
            await stage.add(small(f"late-{name}", name, 5))
        async with asyncio.timeout(120):
            await stage.until(lambda: all(waits_for_the_budget(stage, f"late-{name}") for name in QUEUES))
        bus = ("--nats", stage.server.url)
        listed = await cli("budget", "list", *bus, "-o", "json")
        why = [await cli("explain", f"{SPACE}/late-{name}", *bus) for name in QUEUES]
    finally:
        for process in halves:
            process.kill()
            process.join()
    (report,) = json.loads(listed.stdout)["budgets"]
    assert listed.exit_code == 1 and report["percent"] >= 100
    for number, answer in enumerate(why):
        text = " ".join(answer.output.split())
        assert f"used here in LOG_{number} 0." in text and f"in LOG_{1 - number} 0." in text, text
    entries = await read_everything(stage.bus)
    streams = streams_in(entries)
    for name in streams.partitions:
        fold, replayed = fold_partition(name, entries, verify=True)
        assert not replayed.is_wrong and replayed.commits, name
        if name in streams.trees:
            usage = fold.world.budgets[f"Namespace/{SPACE}"]
            (heard,) = usage.heard.values()
            assert usage.amounts[GPU] < limit < usage.amounts[GPU] + heard.amounts[GPU], "neither has used it up alone"
            assert not usage.running and not heard.running
    assert report["used"] == number_of(GPU, sum(amounts))
    passed = [
        event
        for entry in entries[streams.pool]
        for event in decode_commit(entry.data).events
        if isinstance(event, BudgetUsePassedOn)
    ]
    assert len(passed) <= 8, "something is told when jobs begin and end, and at no other time"
