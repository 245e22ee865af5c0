"""Jobs that name no queue, where all are managed: they wait, and their Workloads bear what is copied of their labels."""

from events.settings import SettingsObserved
from services.runtime.cluster_port import Resource
from tests.stage.stage import Stage, job
from tests.stories.test_pods import Pods

JOBS = Resource(group="batch", plural="jobs", kind="Job")
QUEUE = "kueue.x-k8s.io/queue-name"


async def test_a_job_without_a_queue_is_stopped_and_runs_when_it_names_one(stage: Stage) -> None:
    stage.serve(settings=SettingsObserved(without_queue=True, copied_labels=("cost",)))
    pods = Pods(stage)
    made = job("j", 30)
    made["metadata"]["labels"] = {"cost": "team-a"}
    await stage.add(made)
    await pods.until(lambda: stage.get("jobs.batch", "default", "j")["spec"].get("suspend") is True)
    await pods.until(lambda: len(pods.workloads()) == 1)
    (found,) = pods.workloads().values()
    assert found["metadata"]["labels"]["cost"] == "team-a" and "queueName" not in found["spec"]
    await stage.client.merge(JOBS, "default", "j", {"metadata": {"labels": {QUEUE: "team"}}})
    await pods.until(lambda: stage.running("j"))
