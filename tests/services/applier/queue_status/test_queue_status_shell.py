"""Queues are shown as they stand while the API server is busy with other writes, however long those take."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from msgspec.structs import replace

from events.api.labels import RESOURCE_IN_USE
from events.multikueue import QuotaAutomationEnded, QuotaAutomationSettled
from events.object_version import ObjectVersion
from events.quota import ClusterQueueObserved, CohortObserved, FlavorQuotas, Quota, ResourceGroup
from events.settings import SettingsObserved
from ops.sandbox.simulate.process_clock import ProcessClock
from ops.sandbox.simulate.virtual_loop import VirtualLoop
from services.applier.queue_status.queue_status_shell import EVERY, QueueStatusWriter
from services.applier.queue_status.status_patches import Statuses, status_patch
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.runtime.cluster_port import ClusterUnavailable, Resource
from tests.projections.fair_sharing.cohort_world import CohortWorld

QUEUES = 30
TAKES_S = 0.1
"""What one call takes on a server that is at its limit."""


def play(seed: str, watch: Callable[[VirtualLoop], Coroutine[None, None, None]]) -> None:
    """What happens in virtual time."""
    loop = VirtualLoop(seed)
    try:
        loop.run_until_complete(watch(loop))
    finally:
        loop.close()


def groups_of(nominal: str) -> list[dict[str, Any]]:
    """The resource groups of a cluster queue with one flavor, as its object has them."""
    flavor = {"name": "default", "resources": [{"name": "cpu", "nominalQuota": nominal}]}
    return [{"coveredResources": ["cpu"], "flavors": [flavor]}]


def observed(nominal: int, *, held: bool = False) -> ClusterQueueObserved:
    """Such a cluster queue, with so many CPUs, as it is seen."""
    cpu = Quota(resource="cpu", nominal=1_000 * nominal)
    group = ResourceGroup(resources=("cpu",), flavors=(FlavorQuotas(flavor="default", quotas=(cpu,)),))
    return ClusterQueueObserved(name="q", groups=(group,), held=held)


class BusyServer:
    """Takes its time for every call; remembers whose status was written when."""

    def __init__(self) -> None:
        self.shown: set[str] = set()
        self.all_shown = asyncio.Event()

    async def get(self, resource: Resource, namespace: str, name: str) -> dict[str, Any]:
        del resource, namespace
        await asyncio.sleep(TAKES_S)
        return {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"}, "status": {}}

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: dict[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        found = await self.get(resource, namespace, name)
        if subresource == "status" and resource.kind == "ClusterQueue":
            self.shown.add(name)
        if len(self.shown) == QUEUES:
            self.all_shown.set()
        return {**found, "status": patch.get("status", {})}


def test_whether_quota_follows_is_shown_when_nothing_else_has_changed_and_goes_when_nobody_asks() -> None:
    at, statuses = CohortWorld(SettingsObserved()), Statuses()
    at.queue("q", 4)
    place = ("ClusterQueue", "", "q")
    asked = QuotaAutomationSettled(cluster_queue="q", reason="NotRequested", message="It was not.")
    kind, shown = "MultiKueueManagerQuotaAutomation", {"metadata": {}, "status": {}}
    other = {"type": "Others", "status": "True"}
    for fact, said in (
        (None, None),
        (asked, ("False", "NotRequested", "It was not.")),
        (QuotaAutomationEnded(cluster_queue="q"), None),
    ):
        if fact is not None:
            at.fold(fact)
        patch = status_patch(place, statuses.changed(at.world, 1_000)[place], shown, 1_000)
        assert patch is not None
        conditions = {one["type"]: one for one in patch["status"]["conditions"]}
        found = conditions.get(kind)
        assert (None if found is None else (found["status"], found["reason"], found["message"])) == said
        shown = {"metadata": {}, "status": {**shown["status"], "conditions": [*conditions.values(), other]}}


class RefusingServer(BusyServer):
    """Fails at the first patch of a specification; remembers those that came afterwards."""

    def __init__(self) -> None:
        super().__init__()
        self.failed, self.patched = asyncio.Event(), list[dict[str, Any]]()

    async def get(self, resource: Resource, namespace: str, name: str) -> dict[str, Any]:
        found = await super().get(resource, namespace, name)
        return {**found, "metadata": {**found["metadata"], "uid": ""}, "spec": {"resourceGroups": groups_of("1")}}

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: dict[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        if "spec" in patch:
            if not self.failed.is_set():
                self.failed.set()
                raise ClusterUnavailable("for a moment")
            self.patched.append(patch["spec"])
        return await super().merge(resource, namespace, name, patch, subresource=subresource)


@pytest.mark.parametrize(("then", "nominal"), [(2_000, "2"), (3_000, "3"), (None, None)])
def test_quota_that_could_not_be_written_is_tried_again_as_it_is_wanted_by_then(
    then: int | None, nominal: str | None
) -> None:
    at, server = CohortWorld(SettingsObserved()), RefusingServer()
    at.fold(observed(1))
    settled = QuotaAutomationSettled(cluster_queue="q", reason="QuotaAutomated", message="", nominal={"cpu": 2_000})
    at.fold(settled)

    async def watch(loop: VirtualLoop) -> None:
        clock = ProcessClock(1_000, loop)
        writer = QueueStatusWriter(server, clock, LowPriorityWrites(clock))  # type: ignore[arg-type]
        writing = loop.create_task(writer.run())
        writer.observe(at.world, ())
        await server.failed.wait()
        await clock.sleep(EVERY)
        known = QuotaAutomationEnded(cluster_queue="q") if then is None else replace(settled, nominal={"cpu": then})
        at.fold(known)
        writer.observe(at.world, ())
        await clock.sleep(60_000)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)

    play("refusing", watch)
    written = [one["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] for one in server.patched]
    assert written == ([nominal] if nominal else [])


def test_every_queue_is_shown_within_seconds_while_a_thousand_others_wait_for_their_turn() -> None:
    at, server = CohortWorld(SettingsObserved()), BusyServer()
    at.fold(CohortObserved(name="all"))
    for number in range(QUEUES):
        at.queue(f"q{number}", 4)
        at.door(f"q{number}", f"q{number}")

    async def watch(loop: VirtualLoop) -> None:
        clock = ProcessClock(1_000, loop)
        spare = LowPriorityWrites(clock)
        writer = QueueStatusWriter(server, clock, spare)  # type: ignore[arg-type]

        async def other() -> None:
            async with spare.turn():
                await asyncio.sleep(TAKES_S)

        others = [loop.create_task(other()) for _ in range(1000)]
        writing = loop.create_task(writer.run())
        writer.observe(at.world, ())
        # For each queue and its LocalQueue two calls at first, and a rest as long.
        await asyncio.wait_for(server.all_shown.wait(), (2 * QUEUES + 1) * 2 * 2 * TAKES_S)
        assert sum(one.done() for one in others) < len(others)
        for task in (writing, *others):
            task.cancel()
        await asyncio.gather(writing, *others, return_exceptions=True)

    play("busy", watch)


class WritableServer(BusyServer):
    """Holds a cluster queue, which others write, too."""

    def __init__(self, nominal: str) -> None:
        super().__init__()
        self.version, self.nominal, self.finalizers = 1, nominal, list[str]()
        self.written = asyncio.Event()

    async def get(self, resource: Resource, namespace: str, name: str) -> dict[str, Any]:
        await super().get(resource, namespace, name)
        meta = {"name": name, "uid": "", "resourceVersion": str(self.version), "finalizers": self.finalizers}
        return {"metadata": meta, "spec": {"resourceGroups": groups_of(self.nominal)}}

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: dict[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        if not subresource:
            if "spec" in patch:
                (flavor,) = patch["spec"]["resourceGroups"][0]["flavors"]
                self.nominal = flavor["resources"][0]["nominalQuota"]
            self.finalizers = patch["metadata"].get("finalizers", self.finalizers)
            self.version += 1
            self.written.set()
        return await self.get(resource, namespace, name)

    def is_changed(self, **values: object) -> None:
        """Somebody else writes it."""
        self.version += 1
        self.written.clear()
        for name, value in values.items():
            setattr(self, name, value)


@pytest.mark.parametrize("by_hand", ["1", "90"])
def test_quota_that_is_changed_by_hand_before_it_was_seen_as_it_should_be_is_set_again(by_hand: str) -> None:
    at, server = CohortWorld(SettingsObserved()), WritableServer("1")
    settled = QuotaAutomationSettled(cluster_queue="q", reason="QuotaAutomated", message="", nominal={"cpu": 2_000})
    see(at, server, observed(1, held=True))
    at.fold(settled)
    _written_again(at, server, lambda: see(at, server, observed(int(server.nominal), held=True)), nominal=by_hand)
    assert server.nominal == "2"


def test_our_finalizer_that_is_taken_off_before_it_was_seen_is_put_on_again() -> None:
    at, server = CohortWorld(SettingsObserved()), WritableServer("1")
    see(at, server, ClusterQueueObserved(name="q"))
    _written_again(at, server, lambda: see(at, server, ClusterQueueObserved(name="q")), finalizers=[])
    assert server.finalizers == [RESOURCE_IN_USE]


def see(at: CohortWorld, server: WritableServer, fact: ClusterQueueObserved) -> None:
    """What is there is seen at its version."""
    at.world.versions.take(ObjectVersion(kind="ClusterQueue", name="q", version=server.version), fact, at.now)
    at.fold(fact)


def _written_again(at: CohortWorld, server: WritableServer, seen: Callable[[], None], **by_hand: object) -> None:
    """Between two looks it is written, and changed by somebody else; both are seen after that."""

    async def watch(loop: VirtualLoop) -> None:
        clock = ProcessClock(1_000, loop)
        writer = QueueStatusWriter(server, clock, LowPriorityWrites(clock))  # type: ignore[arg-type]
        writing = loop.create_task(writer.run())
        writer.observe(at.world, ())
        await server.written.wait()
        server.is_changed(**by_hand)
        seen()
        await clock.sleep(EVERY)
        writer.observe(at.world, ())
        await asyncio.wait_for(server.written.wait(), 60)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)

    play("written again", watch)


class HoldingServer(BusyServer):
    """Remembers what bears our finalizer."""

    def __init__(self) -> None:
        super().__init__()
        self.held: set[str] = set()

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: dict[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        if "finalizers" in patch.get("metadata", {}):
            self.held.add(name)
        return await super().merge(resource, namespace, name, patch, subresource=subresource)


def test_a_queue_is_kept_from_being_deleted_long_before_its_status_is_due() -> None:
    at, server = CohortWorld(SettingsObserved()), HoldingServer()

    async def watch(loop: VirtualLoop) -> None:
        clock = ProcessClock(1_000, loop)
        writer = QueueStatusWriter(server, clock, LowPriorityWrites(clock))  # type: ignore[arg-type]
        writing = loop.create_task(writer.run())
        writer.observe(at.world, ())
        await clock.sleep(EVERY // 10)
        at.fold(ClusterQueueObserved(name="q", uid="uid-q"))
        writer.observe(at.world, ())
        await clock.sleep(EVERY // 2)
        assert server.held == {"default", "q"}, "the flavor was there before"
        assert not server.shown
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)

    play("holding", watch)
