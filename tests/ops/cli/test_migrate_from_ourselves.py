"""A log is lost or left behind: its cluster is taken over as if another manager had left it, and back to Kueue."""

from pathlib import Path

from events.json_object import JsonObject
from ops.production.log.server.server import NatsServer
from ops.production.process.clock import ScaledClock
from tests.ops.cli.test_adopt import Left, Make, left, until
from tests.ops.production.deploy.small_cluster import job
from tests.stage.cluster import end_pods


def workload_of(found: Left, name: str) -> JsonObject:
    """The Workload object that a Job owns."""
    there = found.cluster.of("workloads.kueue.x-k8s.io").values()
    owned = {one["metadata"]["ownerReferences"][0]["name"]: one for one in there}
    assert name in owned, f"no Workload of {name} among {[one['metadata'] for one in there]}"
    return owned[name]


def is_equivalent(spec: JsonObject, workload: JsonObject) -> bool:
    """Whether Kueue would find that a Workload belongs to a Job as it stands: else it stops what runs.

    Our own reading of its rule: counts, least counts, containers and init containers are equal as a whole; tolerations
    as well, unless the Workload is admitted, for then its flavor has added some.
    """
    admitted = any(
        (one["type"], one["status"]) == ("Admitted", "True") for one in workload["status"].get("conditions", ())
    )
    (pods,) = workload["spec"]["podSets"]
    if pods["count"] != min(spec["parallelism"], spec["completions"]) or "minCount" in pods:
        return False
    compared = ["containers", "initContainers", *([] if admitted else ["tolerations"])]
    wanted, there = spec["template"]["spec"], pods["template"]["spec"]
    return all((wanted.get(name) or []) == (there.get(name) or []) for name in compared)


def whole_job(name: str, pods: int = 1) -> JsonObject:
    """A Job with what only a whole template holds."""
    value = job(name, pods=pods, suspend=True)
    spec = value["spec"]["template"]["spec"]
    spec["containers"][0] |= {"image": "registry/train:7", "command": ["run"], "env": [{"name": "A", "value": "b"}]}
    spec["initContainers"] = [{"name": "fetch", "image": "registry/fetch:1", "resources": {"requests": {"cpu": "1"}}}]
    spec["tolerations"] = [{"key": "own", "operator": "Exists"}]
    spec["volumes"] = [{"name": "data", "emptyDir": {}}]
    spec["nodeSelector"] = {"disk": "fast"}
    value["spec"]["template"]["metadata"]["labels"] = {"app": "train"}
    return value


async def test_what_is_written_is_what_kueue_would_have_written(
    cluster_with: Make, tmp_path: Path, clock: ScaledClock
) -> None:
    async with left(cluster_with, tmp_path, clock) as found, found.serving():
        await found.cluster.add(whole_job("waits", 9))
        await found.cluster.add(whole_job("runs"))
        await found.cluster.until(lambda: len(found.cluster.of("workloads.kueue.x-k8s.io")) == 2)
        await found.cluster.until(lambda: "status" in workload_of(found, "waits"))
        for name in ("runs", "waits"):
            spec, workload = found.spec_of(name), workload_of(found, name)
            assert is_equivalent(spec, workload), name
            (pods,) = workload["spec"]["podSets"]
            assert pods["template"]["metadata"]["labels"] == {"app": "train", "batch.kubernetes.io/job-name": name}
            assert pods["template"]["spec"]["volumes"] == [{"name": "data", "emptyDir": {}}]
            assert pods["template"]["spec"]["nodeSelector"] == {"disk": "fast"}, "without what the flavor adds"
            meta = workload["metadata"]
            assert meta["annotations"]["kueue.x-k8s.io/job-owner-gvk"] == "batch/v1, Kind=Job"
            assert meta["annotations"]["kueue.x-k8s.io/job-owner-name"] == name
            owner = (found.cluster.get("jobs.batch", ("team", name)) or {})["metadata"]["uid"]
            assert meta["labels"] == {"kueue.x-k8s.io/job-uid": owner}


async def test_a_fresh_log_takes_over_what_an_earlier_one_has_left_running(
    cluster_with: Make, tmp_path: Path, clock: ScaledClock
) -> None:
    async with left(cluster_with, tmp_path, clock) as found:
        cluster = found.cluster
        async with found.serving():
            for name in ("first", "second"):
                await cluster.add(job(name, suspend=True))
            await cluster.until(lambda: len(cluster.of("pods")) == 2)
            await cluster.add(job("third", suspend=True))
            await cluster.until(lambda: len(cluster.of("workloads.kueue.x-k8s.io")) == 3)
            await cluster.until(lambda: bool(workload_of(found, "third").get("status")))
            await cluster.until(lambda: bool(workload_of(found, "second").get("status")))
        pods = {one["metadata"]["uid"] for one in cluster.of("pods").values()}
        old = found.server
        found.server = NatsServer(tmp_path / "another")
        await found.server.start()
        try:
            told = await found.look(found.server.url)
            assert told.recorded and not told.blocked
            assert (told.admitted, told.running) == (2, 2)
            async with found.serving() as running:
                await until(lambda: running.watcher is not None and running.watcher.listed.is_set())
                await running.quiet()
                assert pods <= {one["metadata"]["uid"] for one in cluster.of("pods").values()}, "no pod was stopped"
                assert found.spec_of("third")["suspend"]
                await end_pods(cluster, found.client, "team", "second")
                await cluster.until(lambda: not found.spec_of("third")["suspend"])
                # The marks of the log before are of larger sequences: they hold nothing up.
                await cluster.add(job("high", cpus=2, priority="high", suspend=True))
                await cluster.until(lambda: found.spec_of("first")["suspend"] and not found.spec_of("high")["suspend"])
        finally:
            await found.server.stop()
            found.server = old
