"""kuelog is away, Kueue decides meanwhile, and kuelog comes again on its own log: nothing that runs is stopped, and all of it counts."""

from pathlib import Path

from events.json_object import JsonObject
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Running
from services.applier.writing import WORKLOADS
from tests.ops.cli.test_adopt import Left, Make, left, until
from tests.ops.cli.test_migrate_from_ourselves import workload_of
from tests.ops.production.deploy.small_cluster import job
from tests.stage.cluster import end_pods
from tests.stage.stage import JOBS


class Meanwhile:
    """Kueue, as far as its writes: what it decides about Jobs while nobody else does."""

    def __init__(self, found: Left) -> None:
        self.found = found

    def _condition(self, kind: str, reason: str, *, true: bool = True) -> JsonObject:
        status = "True" if true else "False"
        return {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": f"{reason} by Kueue",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }

    async def admit(self, name: str, *, cpus: int = 1) -> None:
        """Reserve quota, admit, inject what the flavor adds, start."""
        given = {"name": "main", "count": 1, "flavors": {"cpu": "a"}, "resourceUsage": {"cpu": str(cpus)}}
        await self._write(
            name,
            [self._condition("QuotaReserved", "QuotaReserved"), self._condition("Admitted", "Admitted")],
            {"clusterQueue": "cq", "podSetAssignments": [given]},
        )
        labels = {"kueue.x-k8s.io/podset": "main"}
        template = {"metadata": {"labels": labels}, "spec": {"nodeSelector": {"pool": "a"}}}
        await self.found.client.merge(JOBS, "team", name, {"spec": {"suspend": False, "template": template}})

    async def evict(self, name: str) -> None:
        """Stop the job, take out what was injected, and put the workload back in line."""
        await self.found.client.merge(JOBS, "team", name, {"spec": {"suspend": True}})
        await self.found.cluster.until(lambda: not pods_of(self.found, name))
        await self._write(
            name,
            [
                self._condition("QuotaReserved", "Pending", true=False),
                self._condition("Admitted", "NoReservation", true=False),
                self._condition("Evicted", "Preempted"),
                self._condition("Requeued", "Preempted"),
            ],
            None,
        )

    async def finish(self, name: str) -> None:
        """Say that the job has ended."""
        before = workload_of(self.found, name)["status"]
        await self._write(name, [*before["conditions"], self._condition("Finished", "Succeeded")], before["admission"])

    async def _write(self, name: str, conditions: list[JsonObject], admission: JsonObject | None) -> None:
        key = workload_of(self.found, name)["metadata"]["name"]
        status = {"conditions": conditions, "admission": admission}
        await self.found.client.merge(WORKLOADS, "team", key, {"status": status}, subresource="status")


def pods_of(found: Left, name: str) -> set[str]:
    """The UIDs of the pods of a Job that are there."""
    pods = found.cluster.of("pods").values()
    return {
        one["metadata"]["uid"]
        for one in pods
        if any(own["name"] == name for own in one["metadata"].get("ownerReferences", ()))
    }


def told(found: Left, name: str, kind: str) -> str:
    """The status of a condition of a Job's Workload; empty while there is none."""
    workloads = found.cluster.of("workloads.kueue.x-k8s.io")
    if not any(one["metadata"]["ownerReferences"][0]["name"] == name for one in workloads.values()):
        return ""
    conditions = workload_of(found, name).get("status", {}).get("conditions", ())
    return next((str(one["status"]) for one in conditions if one["type"] == kind), "")


async def begun(running: Running) -> None:
    await until(lambda: running.watcher is not None and running.watcher.listed.is_set())
    await running.quiet()


async def test_what_kueue_let_in_stopped_and_ended_meanwhile_stands_and_counts(
    cluster_with: Make, tmp_path: Path, clock: ScaledClock
) -> None:
    async with left(cluster_with, tmp_path, clock, cpus=3) as found:
        cluster = found.cluster
        async with found.serving():
            for name in ("stays", "goes", "ends"):
                await cluster.add(job(name, suspend=True))
            await cluster.until(lambda: all(pods_of(found, one) for one in ("stays", "goes", "ends")))
            await cluster.add(job("waits", suspend=True, priority="high", cpus=1))
            await cluster.until(lambda: told(found, "waits", "Admitted") == "True" and bool(pods_of(found, "waits")))
            out = next(one for one in ("stays", "goes", "ends") if not pods_of(found, one))
            stays, goes = sorted({"stays", "goes", "ends"} - {out})
            await cluster.until(lambda: told(found, out, "QuotaReserved") == "False")
            await cluster.until(lambda: all(told(found, one, "Admitted") == "True" for one in (stays, goes)))

        kueue = Meanwhile(found)
        await end_pods(cluster, found.client, "team", "waits")
        await cluster.until(
            lambda: bool((cluster.get("jobs.batch", ("team", "waits")) or {})["status"].get("completionTime"))
        )
        await kueue.finish("waits")
        await kueue.evict(goes)
        await kueue.admit(out)
        await cluster.add(job("comes", suspend=True))
        await found.workload_of("comes", cpus=1, admitted=False)
        await kueue.admit("comes")
        await cluster.until(lambda: all(pods_of(found, one) for one in (stays, out, "comes")))
        ran = {one: pods_of(found, one) for one in (stays, out, "comes")}

        async with found.serving() as running:
            await begun(running)
            world = running.hosts["LOG_0"].fold.world
            held = {
                one.owner.name for one in world.workloads.values() if one.owner and one.reserved and not one.finished
            }
            assert held == {stays, out, "comes"}
            assert {one: pods_of(found, one) for one in ran} == ran
            assert found.spec_of(goes)["suspend"] and told(found, goes, "QuotaReserved") == "False"
            assert told(found, out, "Evicted") != "True", "the word of Kueue stands"
            await end_pods(cluster, found.client, "team", out)
            await cluster.until(lambda: not found.spec_of(goes)["suspend"])
            ran.pop(out)
            assert {one: pods_of(found, one) for one in ran} == ran
            assert found.spec_of(goes)["template"]["spec"]["nodeSelector"] == {"pool": "a"}
