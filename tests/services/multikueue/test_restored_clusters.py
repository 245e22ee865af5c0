"""A worker cluster whose store was restored from a backup: its copies have the UIDs of before, and older versions.

Rule: docs/rules/multikueue.md#restored
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence

import pytest
from structlog.testing import capture_logs

from events.codec import decode_sighting
from events.json_object import JsonObject
from events.multikueue import KubeConfigPlace, MultiKueueClusterObserved, RemoteWorkloadGone, RemoteWorkloadObserved
from events.subjects import FACTS
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.embedded import kubeconfig_text
from projections.evolve import evolve
from projections.log_position import LogPosition
from services.multikueue.connection import ClusterConnection
from services.multikueue.one_name import OneName
from services.multikueue.seen import SeenElsewhere
from services.runtime.cluster_port import Changed, ClusterUnavailable, Listed, Resource, Sight, Vanished
from tests.services.multikueue.test_rules import KEY, Manager, delegated

W1 = MultiKueueClusterObserved(
    name="w1", uid="u", location="/etc/multikueue/kubeconfigs/w1", location_type=KubeConfigPlace.PATH
)


class Seen(AbsentCluster):
    """A cluster of which this is seen, connection by connection; each but the last breaks in the end."""

    def __init__(self, *connections: list[Sight]) -> None:
        self.connections = list(connections)
        self.over = asyncio.Event()

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        del resource
        for sight in self.connections.pop(0):
            yield sight
        if self.connections:
            raise ClusterUnavailable("its store is restored")
        self.over.set()
        await asyncio.Event().wait()

    async def close(self) -> None: ...


class Opened:
    """Connects to that cluster by a file, and is the process that tells of all of it and shows nothing."""

    namespace = "kuelog-system"
    leads = False

    def __init__(self, cluster: Seen) -> None:
        self.cluster = cluster
        self.names = OneName(lambda _: None)
        self.names.want({"w1": W1})

    def serves(self, workload: str) -> bool:
        del workload
        return True

    def resolved(self, path: str) -> str:
        return path

    def read(self, path: str) -> str:
        del path
        return kubeconfig_text("http://w1")

    async def run(self, words: Sequence[str], variables: Mapping[str, str]) -> bytes:
        raise AssertionError(words, variables)

    async def connect(self, kubeconfig: str) -> Seen:
        del kubeconfig
        return self.cluster


def copy(version: int, *conditions: str) -> JsonObject:
    namespace, _, name = KEY.partition("/")
    told = [
        {"type": kind, "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for kind in conditions
    ]
    meta = {"name": name, "namespace": namespace, "uid": "copy", "resourceVersion": str(version)}
    return {
        "metadata": meta,
        "spec": {"queueName": "lq", "podSets": [{"name": "main", "count": 1}]},
        "status": {"conditions": told},
    }


async def folded(*connections: list[Sight], process: type[Opened] = Opened) -> Manager:
    """The manager's world once all of this was seen of w1, told over a log, and folded."""
    clock, facts, cluster = ScaledClock(1000.0), MemoryStream(FACTS), Seen(*connections)
    told = Manager()
    told.after(delegated())
    seen, opened = SeenElsewhere(facts, clock, lambda _: ""), process(cluster)
    connection = ClusterConnection("w1", AbsentCluster(), opened, clock, seen, lambda _: None, opened)
    connection.want(W1, "multikueue", None)
    read = 0
    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(connection.run()), tasks.create_task(seen.outbox.run())]
        done = False
        while not done:
            done = cluster.over.is_set()
            await (seen.outbox.stored() if done else asyncio.sleep(0.01))
            for entry in facts.entries[read:]:
                fact = decode_sighting(entry.data).fact
                evolve(told.world, fact, LogPosition(partition="FACTS", sequence=1000 + read, at=told.at))
                read += 1
                if isinstance(fact, RemoteWorkloadObserved | RemoteWorkloadGone):
                    connection.note_folded(fact.workload, told.world.remotes.get(fact.workload, {}).get("w1"))
        for task in running:
            task.cancel()
    return told


def standing(told: Manager) -> tuple[int, list[str]]:
    found = told.world.remotes[KEY]["w1"]
    return found.version, sorted(found.conditions)


@pytest.mark.parametrize("version", ["70", "200"])
async def test_a_copy_that_is_older_since_its_cluster_was_restored_is_seen_as_it_stands_now(version: str) -> None:
    """Also where so much was written since that the list is not behind what was seen before."""
    with capture_logs() as logs:
        told = await folded(
            [Listed([copy(50)], "60"), Changed(copy(100, "QuotaReserved", "Admitted"))],
            [Listed([copy(50)], version)],
        )
    assert standing(told) == (50, [])
    assert [one["log_level"] for one in logs if one["event"] == "the store there was restored"] == ["warning"]


async def test_what_changes_there_afterwards_is_told_though_its_versions_were_told_before() -> None:
    told = await folded(
        [Listed([copy(50)], "60"), Changed(copy(80, "QuotaReserved")), Changed(copy(100, "QuotaReserved", "Admitted"))],
        [Listed([copy(50)], "60"), Changed(copy(80, "Evicted"))],
    )
    assert standing(told) == (80, ["Evicted"])


async def test_a_copy_that_is_back_since_its_cluster_was_restored_is_seen_and_so_is_that_it_goes_again() -> None:
    gone = [Listed([copy(50)], "60"), Vanished(copy(90))]
    told = await folded(gone, [Listed([copy(50)], "60")])
    assert standing(told) == (50, [])
    told = await folded(gone, [Listed([copy(50)], "60"), Vanished(copy(65))])
    assert KEY not in told.world.remotes


async def test_a_late_word_of_an_older_version_changes_nothing_where_nothing_was_restored() -> None:
    told = await folded([Listed([copy(100, "Admitted")], "100"), Changed(copy(50))])
    assert standing(told) == (100, ["Admitted"])
