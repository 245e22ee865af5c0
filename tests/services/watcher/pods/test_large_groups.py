"""A large group of pods is looked at once for many changes: with each of them it would be the square of what one user asks for."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from events.api.labels import QUEUE_NAME
from events.catalogue import Fact
from events.codec import decode_sighting
from events.json_object import JsonObject
from events.subjects import FACTS
from events.workload import WorkloadDeleted, WorkloadSubmitted
from ops.production.log.memory import MemoryStream
from services.watcher.pods import pod_groups
from services.watcher.view import View
from tests.services.watcher.scripted_cluster import Objects, OneOfSeveral, rest

MANY, FEW = 400, 40


def pod(number: int, count: int, **labels: str) -> JsonObject:
    meta = {
        "name": f"p{number}",
        "namespace": "team",
        "uid": f"u{number}",
        "resourceVersion": f"{number + 1}",
        "labels": {
            QUEUE_NAME: "lq",
            "kueue.x-k8s.io/managed": "true",
            "kueue.x-k8s.io/pod-group-name": "group",
            **labels,
        },
        "annotations": {"kueue.x-k8s.io/pod-group-total-count": str(count)},
        "finalizers": ["kueue.x-k8s.io/managed"],
    }
    spec = {
        "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}],
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Pending"}}


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pods were looked at, each time that a group was."""
    found: list[int] = []
    works = pod_groups.pod_state

    def counted(pods: Sequence[JsonObject], *args: Any) -> Any:
        found.append(len(pods))
        return works(pods, *args)

    monkeypatch.setattr(pod_groups, "pod_state", counted)
    return found


def submitted(facts: Sequence[Fact]) -> list[int]:
    return [one.spec.pod_sets[0].count for one in facts if isinstance(one, WorkloadSubmitted)]


def test_how_much_is_looked_at_does_not_grow_with_the_square_of_a_group(looked_at: list[int]) -> None:
    view = View()
    facts = [fact for number in range(MANY) for fact in view.see("Pod", pod(number, MANY))]
    small = sum(looked_at)
    for flap in range(10):
        facts += [fact for number in range(MANY) for fact in view.see("Pod", pod(number, MANY, flap=f"{flap}"))]
    assert sum(looked_at) == small < 100 * 101
    assert not submitted(facts) and view.pods.put_off == MANY
    assert submitted(view.pods.look_at_put_off()) == [MANY]
    assert sum(looked_at) == small + MANY
    assert view.pods.put_off == 0 and view.pods.look_at_put_off() == []


def test_a_small_group_is_told_with_its_last_pod() -> None:
    view = View()
    facts = [fact for number in range(FEW) for fact in view.see("Pod", pod(number, FEW))]
    assert submitted(facts) == [FEW] and view.pods.put_off == 0


def test_of_a_list_a_large_group_is_looked_at_once_and_told_with_it(looked_at: list[int]) -> None:
    view = View()
    pods = [pod(number, MANY) for number in range(MANY)]
    view.expect("Pod", pods)
    facts = [fact for one in pods for fact in view.see("Pod", one)]
    assert submitted([*facts, *view.settle("Pod")]) == [MANY]
    assert looked_at == [MANY] and view.pods.put_off == 0


async def test_a_watcher_tells_of_a_large_group_and_of_its_end() -> None:
    objects, stream = Objects(), MemoryStream(FACTS)
    one, told = OneOfSeveral(objects, stream), list[Fact]()

    async def reading() -> AsyncIterator[None]:
        async for batch in stream.follow(0):
            told.extend(decode_sighting(entry.data).fact for entry in batch)
            if isinstance(told[-1], WorkloadSubmitted | WorkloadDeleted):
                yield

    read = reading()
    try:
        async with asyncio.timeout(60):
            await rest(one)
            pods = [await objects.put("Pod", pod(number, MANY)) for number in range(MANY)]
            await anext(read)
            assert submitted(told) == [MANY]
            for each in pods:
                await objects.remove("Pod", each)
            await anext(read)
            assert any(isinstance(fact, WorkloadDeleted) for fact in told)
    finally:
        await one.end()
