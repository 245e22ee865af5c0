"""Who reads the log late finds out that what it is about to write was overtaken.

Rule: docs/rules/log.md#overtaken
"""

from events.codec import encode
from events.commit import Commit
from events.workload import WorkloadQueued
from ops.production.log.memory import MemoryStream
from services.applier.later_decisions import is_overtaken
from services.applier.plan import Application
from tests.stories.small_world import Story, job, platform

PARTITION = "LOG_0"


async def log_of(*workloads: str) -> MemoryStream:
    stream = MemoryStream(PARTITION)
    for base, workload in enumerate(workloads):
        commit = Commit(
            id=f"c{base}",
            prev_hash="",
            partition=PARTITION,
            base=base,
            inputs=(),
            author="queue-manager",
            epoch=0,
            rules="1",
            at=base,
            events=(WorkloadQueued(workload=workload, cluster_queue="cq"),),
        )
        await stream.append("kuelog.log.0.admitter", encode(commit), message_id=str(base), base=base)
    return stream


async def test_a_later_commit_about_a_workload_overtakes_what_is_about_to_be_written_and_one_about_others_does_not() -> (
    None
):
    story = Story()
    story.told(*platform(), job("a"))
    written = Application(workload="team/a", partition=PARTITION, sequence=2, of=story.world.workloads["team/a"])
    assert not await is_overtaken(written, await log_of("team/a", "team/a", "team/b"))
    assert await is_overtaken(written, await log_of("team/a", "team/a", "team/b", "team/a"))
