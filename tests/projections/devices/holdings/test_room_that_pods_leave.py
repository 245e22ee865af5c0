"""Who waits for cards is tried again when a pod leaves some for which nothing was reserved, whosever it was.

Rule: docs/rules/queues.md#retry
"""

import pytest

from events.card import CardShare
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.device import PodObserved
from events.workload import WorkloadFinished
from tests.stories.small_world import Story, job, platform

SHARE = CardShare(uuid="GPU-0", vendor="NVIDIA", memory=20000, cores=60)


def late(phase: str, workload: str) -> PodObserved:
    return PodObserved(
        namespace="team",
        name="late",
        uid="p",
        node="n1",
        phase=phase,
        workload=workload,
        pod_set="main",
        shares=((SHARE,),),
    )


@pytest.mark.parametrize("workload", ["team/runs", ""])
@pytest.mark.parametrize("gone", [None, ObjectRemoved(kind="Pod", namespace="team", name="late")])
def test_a_pod_that_came_when_its_job_was_over_and_has_ended_lets_in_who_waits(
    workload: str, gone: AnyEvent | None
) -> None:
    told = Story(unchecked=True).told(*platform(nominal=2, cards=1), job("runs", memory=20000, cores=60))
    told.decided()
    told.told(WorkloadFinished(workload="team/runs", reason="Succeeded")).decided()
    told.told(late("Running", workload), job("waits", memory=20000, cores=60)).decided()
    assert not told.world.workloads["team/waits"].reserved
    told.told(gone or late("Succeeded", workload)).decided()
    assert told.world.workloads["team/waits"].admitted
