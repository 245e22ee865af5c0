"""Where a leader takes the first index of a job's pods: the templates of its workers say that their ranks begin behind it.

Rule: docs/rules/topology.md#index-offset
"""

from events.api.labels import POD_INDEX_OFFSET, PODSET_GROUP_NAME
from events.json_object import JsonObject, is_object, object_at
from events.json_path import Location, get, put

_REPLICAS: Location = ("spec", "mpiReplicaSpecs")
_LAUNCHER, _WORKER = "Launcher", "Worker"


def behind_leader(value: JsonObject, workers: Location, leader: Location) -> JsonObject:
    """The object with the offset on the template of its workers, unless leader and workers share one placement.

    Pod sets that do are numbered through by what ungates them.
    """
    templates = [get(value, at) for at in (workers, leader)]
    if None in templates or any(PODSET_GROUP_NAME in object_at(one, "metadata", "annotations") for one in templates):
        return value
    return put(value, (*workers, "metadata", "annotations", POD_INDEX_OFFSET), "1")


def behind_launcher(job: JsonObject) -> JsonObject:
    """An MPIJob with the offset, if its launcher counts as a worker."""
    replicas = get(job, _REPLICAS)
    if get(job, ("spec", "runLauncherAsWorker")) is not True or not is_object(replicas):
        return job
    if replicas.keys() != {_LAUNCHER, _WORKER}:
        return job
    return behind_leader(job, (*_REPLICAS, _WORKER, "template"), (*_REPLICAS, _LAUNCHER, "template"))
