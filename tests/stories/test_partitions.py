"""Trees in four partitions on a real bus, decided in two processes: one card serves all of them, and replay finds no difference."""

import asyncio
import json
import os
from typing import NamedTuple

import yaml

from events.admission import QuotaReserved
from events.codec import decode_commit
from events.partition_map import TreePlacement
from events.subjects import FACTS, addressee
from ops.production.archive.history import read_everything
from ops.production.log.partitioning import divide
from ops.production.log.streams import streams_in, streams_on
from ops.queries.replay import fold_partition
from ops.sandbox.simulate.partition_laws import hold_partition
from tests.stage.forked_commands import forked
from tests.stage.stage import QUEUES, SCALE, Stage, job
from tests.stories.partition_process import begin

TREES = ("a", "b", "c", "d")


def queue(name: str) -> list[dict[str, object]]:
    """A cluster queue as the stage's, with a local queue of that name."""
    documents = [one for one in yaml.safe_load_all(QUEUES) if one["kind"] in ("ClusterQueue", "LocalQueue")]
    for one in documents:
        one["metadata"]["name"] = name
    documents[1]["spec"]["clusterQueue"] = name
    return documents


def queued(name: str, queue_name: str, namespace: str = "default") -> dict[str, object]:
    value = job(name, 5)
    value["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = queue_name
    value["metadata"]["namespace"] = namespace
    return value


class Answer(NamedTuple):
    exit_code: int
    stdout: str
    output: str


async def cli(*words: str) -> Answer:
    """A command as a process of its own: the services of this one write to the same output."""
    done = await asyncio.to_thread(forked, words, env=os.environ)
    return Answer(done.returncode, done.stdout, done.stdout + done.stderr)


async def test_a_log_is_divided_while_its_services_run_and_they_take_the_new_partitions_up(stage: Stage) -> None:
    for value in yaml.safe_load_all(QUEUES):
        await stage.add(value)
    first = next(one["metadata"]["name"] for one in yaml.safe_load_all(QUEUES) if one["kind"] == "LocalQueue")
    stage.serve("watcher", "queue-manager", "admitter", "preemptor", "accountant", "applier")
    await stage.add(queued("before", first))
    async with asyncio.timeout(120):
        await stage.until(lambda: stage.complete("before"))
    await stage.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fresh"}})
    for value in queue("new"):
        if value["kind"] == "LocalQueue":
            value["metadata"]["namespace"] = "fresh"  # pyright: ignore[reportIndexIssue]
        await stage.add(value)
    async with asyncio.timeout(120):
        await stage.until(lambda: has_status(stage, "fresh", "new"))
    bus = ("--nats", stage.server.url)
    looked = await cli("log", "partition", "3", *bus, "--place", "queue/new=LOG_2", "--dry-run", "-o", "json")
    found = json.loads(looked.stdout)
    assert (found["before"], found["partitions"], found["fresh"]) == (1, 3, True), looked.output
    (asked,) = found["staying"]
    assert found["staying"][asked] == ["LOG_0"], "the tree beside it was set up, and nobody has asked it"
    assert (await streams_on(stage.bus)).trees == ("LOG_0",), "nothing is changed by looking"
    done = await cli("log", "partition", "3", *bus, "--place", "queue/new=LOG_2")
    assert done.exit_code == 0 and "the log has 3 partitions of trees, and had 1" in done.stdout, done.output
    assert (
        f"{asked} stays in LOG_0" in done.stdout
        and "queue/new is placed in LOG_2 when it is first asked" in done.stdout
    )
    again = await cli("log", "partition", "3", *bus)
    assert again.exit_code == 0 and "already: nothing is changed" in again.stdout
    assert f"{asked} stays in LOG_0" in again.stdout, "who asks for what there is sees which tree is where"
    for words, why in (
        (("2",), "their number only grows: write 3 or more"),
        (("5", "--place", "new=LOG_2"), "new=LOG_2 places no tree: write cohort/NAME=PARTITION"),
        (("5", "--place", "queue/new=LOG_5"), "with a partition from LOG_0 to LOG_4"),
        (
            ("--place", f"{asked}=LOG_1"),
            f"a tree in use moves into a partition that the log has not yet: write {asked}=LOG_3",
        ),
        (("0",), "greater than or equal to 1"),
        (("257", "--place", "queue/new=LOG_2"), "a log has 1 to 256 partitions, not 257"),
    ):
        refused = await cli("log", "partition", *words, *bus)
        assert refused.exit_code != 0 and why in " ".join(refused.output.split()), refused.output
    # The first of a namespace is for all, and tells everybody where the others go.
    await stage.add(queued("one", "new", "fresh"))
    async with asyncio.timeout(120):
        await stage.until(lambda: ended(stage, "fresh", "one"))
    await stage.add(queued("two", "new", "fresh"))
    await stage.add(queued("after", first))
    async with asyncio.timeout(120):
        await stage.until(lambda: ended(stage, "fresh", "two") and stage.complete("after"))
    entries = await read_everything(stage.bus)
    to = {addressee(entry.subject) for entry in entries[FACTS]}
    assert to == {"", "LOG_0", "LOG_2"}, (
        "facts of the old namespace go to the first partition, and of the fresh one to its own"
    )
    for name in streams_in(entries).partitions:
        _, replayed = fold_partition(name, entries, verify=True)
        assert not replayed.is_wrong and (replayed.commits or name == "LOG_1"), name


def has_status(stage: Stage, namespace: str, name: str) -> bool:
    """Whether a local queue shows how it stands: it is on the log."""
    return bool(stage.get("localqueues.kueue.x-k8s.io", namespace, name).get("status", {}).get("conditions"))


def ended(stage: Stage, namespace: str, name: str) -> bool:
    found = stage.get("jobs.batch", namespace, name)
    return any(one["type"] == "Complete" for one in found.get("status", {}).get("conditions", ()))


async def test_who_is_to_serve_what_a_log_does_not_have_is_told_so(stage: Stage) -> None:
    await divide(stage.bus, 2, stage.clock.now())
    refused = await cli("run", "admitter", "--nats", stage.server.url, "--partition", "LOG_7")
    assert refused.exit_code == 2
    assert "the log has no partition LOG_7: there are LOG_0, LOG_1, DEVICES_default" in " ".join(refused.output.split())


async def test_two_processes_decide_four_partitions_that_share_a_card(stage: Stage) -> None:
    placements = [TreePlacement(tree=f"queue/{name}", partition=number) for number, name in enumerate(TREES)]
    await divide(stage.bus, len(TREES), stage.clock.now(), placements)
    for name in TREES:
        for value in queue(name):
            await stage.add(value)
    halves = [begin(stage.server.url, names, SCALE) for names in (("LOG_0", "LOG_1"), ("LOG_2", "LOG_3"))]
    try:
        stage.serve("watcher", "accountant", "applier")
        for name in TREES:
            value = job(f"job-{name}", 5)
            value["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = name
            await stage.add(value)
        async with asyncio.timeout(120):
            await stage.until(lambda: stage.complete(*(f"job-{name}" for name in TREES)))
    finally:
        for process in halves:
            process.kill()
            process.join()
    entries = await read_everything(stage.bus)
    streams = streams_in(entries)
    assert streams.trees == ("LOG_0", "LOG_1", "LOG_2", "LOG_3")
    reserved = {
        name: {
            event.cluster_queue
            for entry in entries[name]
            for event in decode_commit(entry.data).events
            if isinstance(event, QuotaReserved)
        }
        for name in streams.trees
    }
    assert reserved == {f"LOG_{number}": {name} for number, name in enumerate(TREES)}
    for name in streams.partitions:
        _, replayed = fold_partition(name, entries, verify=True)
        assert not replayed.is_wrong and replayed.commits, name
    _, _, broken = hold_partition(streams.pool, entries, cards=True)
    assert not broken
