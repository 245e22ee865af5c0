"""One object that the cluster does not take now, or that fails, keeps no other from being written."""

import asyncio
from contextlib import suppress

import pytest

from ops.production.process.clock import ScaledClock
from services.applier.writes.retried_writes import RetriedWrites
from services.runtime.cluster_port import ClusterUnavailable, ObjectConflict, ObjectInvalid, ObjectMissing


class _Cluster:
    """Answers the writes of one object with what was laid down for them, one after the other, and then takes them."""

    def __init__(self, refusals: dict[str, list[Exception]], until: set[str]) -> None:
        self._refusals, self._until = refusals, until
        self.tried: list[tuple[str, str]] = []
        self.written: dict[str, str] = {}
        self.done = asyncio.Event()

    async def write(self, key: str, value: str) -> None:
        self.tried.append((key, value))
        await asyncio.sleep(0)
        if refusals := self._refusals.get(key):
            raise refusals.pop(0)
        self.written[key] = value
        if self._until <= self.written.keys():
            self.done.set()


async def _until_done(cluster: _Cluster, writes: RetriedWrites[str]) -> None:
    running, done = asyncio.create_task(writes.run()), asyncio.create_task(cluster.done.wait())
    await asyncio.wait({running, done}, return_when=asyncio.FIRST_COMPLETED)
    assert done.done(), f"no more is written: {running.exception()!r}"
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def _written(cluster: _Cluster, *offered: tuple[str, str]) -> None:
    writes: RetriedWrites[str] = RetriedWrites("pod", "pod not let go", cluster.write, ScaledClock(), retry=1)
    for key, value in offered:
        writes.offer(key, value)
    await _until_done(cluster, writes)


@pytest.mark.parametrize("refusal", [ClusterUnavailable("503"), ObjectConflict("409")])
def test_what_the_cluster_does_not_take_now_is_offered_again_while_others_are_written(refusal: Exception) -> None:
    cluster = _Cluster({"a": [refusal, refusal]}, until={"a", "b"})
    asyncio.run(_written(cluster, ("a", "1"), ("b", "1")))
    assert cluster.tried == [("a", "1"), ("b", "1"), ("a", "1"), ("a", "1")]


@pytest.mark.parametrize("refusal", [ObjectMissing("404"), ObjectInvalid("422"), KeyError("labels")])
def test_what_can_not_be_written_is_left_and_all_others_are_written(refusal: Exception) -> None:
    cluster = _Cluster({"a": [refusal]}, until={*"bcdefghijklmnop"})
    asyncio.run(_written(cluster, *((key, "1") for key in "abcdefghijklmnop")))
    assert [key for key, _ in cluster.tried] == [*"abcdefghijklmnop"]


def test_of_each_object_only_the_newest_offer_is_written() -> None:
    cluster = _Cluster({}, until={"a"})
    asyncio.run(_written(cluster, ("a", "1"), ("a", "2")))
    assert cluster.tried == [("a", "2")]


def test_a_newer_offer_takes_the_place_of_one_that_is_to_be_tried_again() -> None:
    class _Offering(_Cluster):
        writes: RetriedWrites[str]

        async def write(self, key: str, value: str) -> None:
            if value == "1":
                self.writes.offer(key, "2")
            await super().write(key, value)

    cluster = _Offering({"a": [ClusterUnavailable("503")]}, until={"a"})

    async def all_of_it() -> None:
        cluster.writes = RetriedWrites("pod", "pod not let go", cluster.write, ScaledClock(), retry=1)
        cluster.writes.offer("a", "1")
        await _until_done(cluster, cluster.writes)

    asyncio.run(all_of_it())
    assert cluster.tried == [("a", "1"), ("a", "2")]
