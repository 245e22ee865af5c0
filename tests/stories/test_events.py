"""What people are told along the way: the Events of a job and its Workload, from the first to the last."""

from tests.stage.stage import Stage, job
from tests.stories.test_pods import Pods


def told(stage: Stage, kind: str, name: str) -> dict[str, str]:
    """What kuelog told of an object, by reason, in the words of the last of each."""
    return {
        one["reason"]: one["message"]
        for one in stage.of("events")
        if one["source"].get("component") == "kuelog"
        and one["involvedObject"]["kind"] == kind
        and one["involvedObject"]["name"] == name
    }


async def test_a_job_and_its_workload_are_told_of_from_the_first_to_the_last(stage: Stage) -> None:
    stage.serve()
    pods = Pods(stage)
    await stage.add(job("patient", 3600))
    await pods.until(lambda: stage.running("patient"))
    await stage.add(job("urgent", 5, urgent=True))
    await pods.until(lambda: stage.complete("urgent") and stage.running("patient"))
    await stage.end_pods("patient")
    await pods.until(lambda: stage.complete("patient"))
    names = {one["metadata"]["ownerReferences"][0]["name"]: name for name, one in pods.workloads().items()}

    def all_told() -> bool:
        of_workload = told(stage, "Workload", names["patient"])
        return (
            set(of_workload) >= {"QuotaReserved", "Admitted", "Preempted", "EvictedDueToPreempted"}
            and set(told(stage, "Workload", names["urgent"])) >= {"QuotaReserved", "Admitted", "PreemptedWorkload"}
            and set(told(stage, "Job", "patient")) == {"CreatedWorkload", "Started", "Stopped", "FinishedWorkload"}
            and set(told(stage, "Job", "urgent")) == {"CreatedWorkload", "Started", "FinishedWorkload"}
        )

    await pods.until(all_told)
    workload = told(stage, "Workload", names["patient"])
    assert workload["QuotaReserved"].startswith("Quota reserved in ClusterQueue team, wait time since queued was ")
    assert workload["Admitted"].startswith("Admitted by ClusterQueue team, wait time since reservation was ")
    assert "Preempted to accommodate a workload" in told(stage, "Job", "patient")["Stopped"]
    making_room = told(stage, "Workload", names["urgent"])["PreemptedWorkload"]
    assert making_room.startswith(f"Preempted workload default/{names['patient']} (UID: ")
