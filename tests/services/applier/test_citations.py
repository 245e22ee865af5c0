"""A copy from another cluster says which commit of this log decided it.

Rule: docs/rules/multikueue.md#cited
"""

from typing import Any

from msgspec.structs import replace

from events.api.labels import CITED, MULTIKUEUE_ORIGIN
from events.hash_chain import bytes_hash
from ops.production.log.memory import MemoryBus
from services.applier.citations import citation_patch, cites
from services.applier.decisions import Decisions
from services.applier.plan import Application
from services.runtime.control_log import Control
from tests.stories.small_world import Story, job, platform

PARTITION = "LOG_0"


def application(sequence: int) -> Application:
    story = Story()
    story.told(*platform(), job("a"))
    return Application(workload="team/a", partition=PARTITION, sequence=sequence, of=story.world.workloads["team/a"])


def copy(cited: str = "") -> dict[str, Any]:
    annotations = {CITED: cited} if cited else {}
    meta = {"resourceVersion": "7", "labels": {MULTIKUEUE_ORIGIN: "m"}, "annotations": annotations}
    return {"metadata": meta}


async def log_of(*commits: bytes) -> Decisions:
    bus = MemoryBus()
    stream = bus.memory(PARTITION)
    for base, data in enumerate(commits):
        await stream.append("kuelog.log.0.admitter", data, message_id=str(base), base=base)
    return Decisions(stream, Control(), bus.stream)


def text_of(sequence: int, data: bytes) -> str:
    return f"{PARTITION}/{sequence}/{bytes_hash(data)}"


async def test_a_copy_cites_the_commit_that_is_applied_unless_it_cites_a_later_one_of_this_log() -> None:
    stream = await log_of(b"one", b"two", b"three")
    wanted = {"metadata": {"resourceVersion": "7", "annotations": {CITED: text_of(2, b"two")}}}
    assert await citation_patch(copy(), application(2), stream) == wanted
    assert await citation_patch(copy(text_of(1, b"one")), application(2), stream) == wanted
    assert await citation_patch(copy(text_of(2, b"two")), application(2), stream) is None
    assert await citation_patch(copy(text_of(3, b"three")), application(2), stream) is None


async def test_what_cites_another_log_or_nothing_that_can_be_read_is_cited_anew() -> None:
    stream = await log_of(b"one", b"two", b"three")
    for before in (text_of(3, b"of another log"), text_of(9, b"behind the end"), "LOG_0/3", "nonsense"):
        patch = await citation_patch(copy(before), application(2), stream)
        assert patch is not None and patch["metadata"]["annotations"] == {CITED: text_of(2, b"two")}


async def test_what_is_not_on_the_bus_any_more_is_not_cited() -> None:
    assert await citation_patch(copy(), application(2), await log_of(b"one")) is None


async def test_only_what_a_manager_has_made_is_a_copy() -> None:
    ours = application(1)
    sent = replace(ours, of=replace(ours.of, decided=1, spec=replace(ours.of.spec, origin="m")))
    assert cites(sent) and not cites(replace(sent, of=replace(sent.of, spec=ours.of.spec)))
    assert not cites(replace(sent, of=replace(sent.of, applied=1))), "nothing was decided"
