"""What a SparkApplication has to say to be managed, in Kueue's words.

Rule: docs/jobs.md#what-ray-and-spark-must-say
"""

from events.job_kind import JobKind
from events.json_object import JsonObject, object_at
from events.json_path import get
from services.jobs.kinds.table import SPARK
from services.validation.problem import Problem, invalid

_DYNAMIC_SETTING = "spark.dynamicAllocation.enabled"
_DYNAMIC = (
    "a kueue managed job can use dynamicAllocation only when the ElasticJobsViaWorkloadSlices feature gate is on and the "
    "job is an elastic job"
)


def spark_problems(kind: JobKind, job: JsonObject) -> list[Problem]:
    """What is wrong with a SparkApplication; nothing of another kind."""
    if kind is not SPARK:
        return []
    found: list[Problem] = []
    mode = get(job, ("spec", "mode"))
    if mode is not None and mode != "cluster":
        what = "only Cluster mode is supported for a kueue managed job"
        found.append(invalid("spec.mode", mode, what, "cluster"))
    instead = "false: nobody else sees how many executors it has by now"
    if get(job, ("spec", "dynamicAllocation", "enabled")) is True:
        found.append(invalid("spec.dynamicAllocation.enabled", "true", _DYNAMIC, instead))
    if object_at(job, "spec", "sparkConf").get(_DYNAMIC_SETTING) == "true":
        found.append(invalid(f"spec.sparkConf[{_DYNAMIC_SETTING}]", "true", _DYNAMIC, instead))
    return found
