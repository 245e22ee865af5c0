"""`kuelog bench`: honest figures of this machine, in one run, with its load beside them."""

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median

import msgspec
import psutil
from rich.console import Console

from events.admission import WorkloadAdmitted
from events.api.labels import QUEUE_NAME, RUN_SECONDS
from events.codec import decode_commit, decode_sighting, encode
from events.commit import Sighting
from events.subjects import FACTS
from events.workload import WorkloadQueued, WorkloadSubmitted
from ops.cli.failures import known_failures
from ops.production.archive.history import read_everything
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import SOLE
from ops.queries.replay import fold_partition
from ops.sandbox.bench.percentiles import p99
from ops.sandbox.embedded_cluster.nodes.node_objects import plain_node
from ops.sandbox.failures import SANDBOX_FAILURES
from ops.sandbox.scenario.platform import ScenarioPlatform, platform
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.table import figures_table
from services.runtime.cluster_port import Resource
from services.runtime.log_port import Entry, Message

_COMMITS, _PER_COMMIT, _RATE = 1000, 50, 100


class MachineFigures(msgspec.Struct, kw_only=True):
    """What one run measured."""

    commits_per_s: float = 0
    events_per_s: float = 0
    append_p50_ms: float = 0
    append_p99_ms: float = 0
    read_messages_per_s: float = 0
    replayed_events: int = 0
    replayed_events_per_s: float = 0
    decision_p50_ms: float = 0
    decision_p99_ms: float = 0
    jobs: int = 0
    submitted_per_s: float = 0
    jobs_per_s: float = 0
    job_p50_ms: float = 0
    job_p99_ms: float = 0
    load_before: float = 0
    load_after: float = 0
    peak_memory_mib: float = 0


def run_bench(jobs: int, *, output: AnswerForm, console: Console) -> int:
    """Measure everything; print it."""
    with known_failures(SANDBOX_FAILURES) as outcome:
        figures = asyncio.run(_measure(jobs, console))
        if output is not AnswerForm.TEXT:
            print_answer(figures, output)
        else:
            _show(figures, console)
        outcome.code = 0
    return outcome.code


async def _measure(jobs: int, console: Console) -> MachineFigures:
    figures = MachineFigures(jobs=jobs, load_before=psutil.getloadavg()[0])
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        server = NatsServer(data / "log")
        await server.start()
        try:
            bus = await connect(server.url)
            await _measure_log(bus, figures)
            await bus.close()
        finally:
            await server.stop()
        console.print("log measured, now the whole way of a job", style="dim")
        async with platform(data / "platform") as on:
            await _measure_jobs(on, jobs, figures)
            entries = await read_everything(on.bus)
        _measure_replay(entries, figures)
        _measure_latency(entries, figures)
    figures.load_after = psutil.getloadavg()[0]
    figures.peak_memory_mib = psutil.Process().memory_info().rss / (1 << 20)
    return figures


async def _measure_log(bus: JetStreamBus, figures: MachineFigures) -> None:
    stream = await bus.stream("LOG_bench")
    event = encode(WorkloadQueued(workload="team-a/job-some-name-12345", cluster_queue="team-a"))
    data = b"[" + b",".join([event] * _PER_COMMIT) + b"]"
    times: list[float] = []
    begun = time.perf_counter()
    for base in range(_COMMITS):
        before = time.perf_counter()
        await stream.append("kuelog.log.bench.x", data, message_id=f"m{base}", base=base)
        times.append((time.perf_counter() - before) * 1000)
    took = time.perf_counter() - begun
    figures.commits_per_s, figures.events_per_s = _COMMITS / took, _COMMITS * _PER_COMMIT / took
    figures.append_p50_ms, figures.append_p99_ms = median(times), p99(times)
    facts = await bus.stream(FACTS)
    count = 50_000
    await facts.publish([Message("kuelog.facts.bench.x", event, f"f{i}") for i in range(count)])
    begun, read = time.perf_counter(), 0
    async for batch in facts.read():
        read += len(batch)
    figures.read_messages_per_s = read / (time.perf_counter() - begun)


async def _measure_jobs(on: ScenarioPlatform, jobs: int, figures: MachineFigures) -> None:
    on.cluster.add(plain_node("n1", cpu="100000", memory="100000Gi"))
    node = on.cluster.store.get("nodes", ("", "n1"))
    if node is not None:
        allocatable = {"cpu": "100000", "memory": "100000Gi", "pods": "100000"}
        on.cluster.store.put("nodes", ("", "n1"), {**node, "status": {**node["status"], "allocatable": allocatable}})
    for value in _QUEUES:
        on.cluster.add(value)
    await on.running.quiet()
    resource = Resource(group="batch", plural="jobs", kind="Job")
    created: dict[str, float] = {}
    running: dict[str, float] = {}
    queue = on.cluster.store.watch()
    begun = time.perf_counter()
    submitting = asyncio.create_task(_submit(on, resource, jobs, created))
    while len(running) < jobs:
        async with asyncio.timeout(60):
            change = await queue.get()
        if change is None or change.key != "pods":
            continue
        if change.object.get("status", {}).get("phase") == "Running":
            name = change.object["metadata"]["labels"]["job-name"]
            running.setdefault(name, time.perf_counter())
    on.cluster.store.unwatch(queue)
    await submitting
    figures.submitted_per_s = (jobs - 1) / (max(created.values()) - min(created.values()))
    waits = [(running[name] - created[name]) * 1000 for name in running]
    figures.jobs_per_s = jobs / (max(running.values()) - begun)
    figures.job_p50_ms, figures.job_p99_ms = median(waits), p99(waits)


async def _submit(on: ScenarioPlatform, resource: Resource, jobs: int, created: dict[str, float]) -> None:
    """Jobs at a steady rate, as people and pipelines send them: none waits for the one before."""
    begun = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for number in range(jobs):
            await asyncio.sleep(max(begun + number / _RATE - time.perf_counter(), 0))
            created[f"job-{number}"] = time.perf_counter()
            tasks.create_task(on.client.create(resource, "default", _job(f"job-{number}")))


def _measure_replay(entries: dict[str, list[Entry]], figures: MachineFigures) -> None:
    """Fold what the run has left, over and over into fresh worlds, until enough events have been folded."""
    begun, events = time.perf_counter(), 0
    while events < 20_000:  # noqa: PLR2004 - enough for a steady figure
        _, replayed = fold_partition(SOLE.sole, entries)
        events += replayed.events + replayed.facts
    took = time.perf_counter() - begun
    figures.replayed_events, figures.replayed_events_per_s = events, events / took


def _measure_latency(entries: dict[str, list[Entry]], figures: MachineFigures) -> None:
    """From the fact that a workload was submitted to the decision that admits it, by the log's own times."""
    submitted: dict[str, int] = {}
    for entry in entries[FACTS]:
        sighting: Sighting = decode_sighting(entry.data)
        if isinstance(sighting.fact, WorkloadSubmitted):
            submitted[sighting.fact.workload] = sighting.at
    waits: list[float] = []
    for entry in entries[SOLE.sole]:
        commit = decode_commit(entry.data)
        waits.extend(
            commit.at - submitted[event.workload] for event in commit.events if isinstance(event, WorkloadAdmitted)
        )
    figures.decision_p50_ms, figures.decision_p99_ms = median(waits), p99(waits)


def _show(figures: MachineFigures, console: Console) -> None:
    rows = (
        (f"commits appended ({_PER_COMMIT} events each)", f"{figures.commits_per_s:,.0f} /s"),
        ("events appended", f"{figures.events_per_s:,.0f} /s"),
        ("append p50 / p99", f"{figures.append_p50_ms:.2f} / {figures.append_p99_ms:.2f} ms"),
        ("messages read back", f"{figures.read_messages_per_s:,.0f} /s"),
        ("events replayed (decoded and folded)", f"{figures.replayed_events_per_s:,.0f} /s"),
        (
            f"fact to WorkloadAdmitted at {figures.submitted_per_s:.0f} jobs/s, p50 / p99",
            f"{figures.decision_p50_ms:.0f} / {figures.decision_p99_ms:.0f} ms",
        ),
        (f"{figures.jobs} jobs, submission to running", f"{figures.jobs_per_s:,.0f} jobs/s"),
        ("… p50 / p99", f"{figures.job_p50_ms:.0f} / {figures.job_p99_ms:.0f} ms"),
        ("memory of this process, cluster and services in it", f"{figures.peak_memory_mib:.0f} MiB"),
        ("load of the machine before / after", f"{figures.load_before:.2f} / {figures.load_after:.2f}"),
    )
    console.print(figures_table("kuelog bench", rows))


def _job(name: str) -> dict[str, object]:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {QUEUE_NAME: "bench"}},
        "spec": {
            "template": {
                "metadata": {"annotations": {RUN_SECONDS: "600"}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            }
        },
    }


_KUEUE = "kueue.x-k8s.io/v1beta2"
_QUEUES = (
    {"apiVersion": _KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "default"}, "spec": {}},
    {
        "apiVersion": _KUEUE,
        "kind": "ClusterQueue",
        "metadata": {"name": "bench"},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": ["cpu"],
                    "flavors": [{"name": "default", "resources": [{"name": "cpu", "nominalQuota": 1_000_000}]}],
                }
            ],
        },
    },
    {
        "apiVersion": _KUEUE,
        "kind": "LocalQueue",
        "metadata": {"name": "bench", "namespace": "default"},
        "spec": {"clusterQueue": "bench"},
    },
)
