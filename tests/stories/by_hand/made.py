"""What people make: jobs, elastic ones, pods alone and in groups; drawn by chance."""

import random

from events.api.labels import ELASTIC_JOB, POD_GROUP_NAME, POD_GROUP_TOTAL_COUNT
from events.json_object import JsonObject

QUEUES = ("a", "b")


def drawn_objects(chance: random.Random, name: str) -> list[JsonObject]:
    """A job, an elastic job, a pod, or the pods of a group."""
    kind = chance.choice((_job, _job, _job, _elastic_job, _pod, _group))
    return kind(chance, name)


def _job(chance: random.Random, name: str) -> list[JsonObject]:
    pods = chance.choice((1, 1, 2))
    fewer = {"kueue.x-k8s.io/job-min-parallelism": "1"} if pods > 1 and chance.random() < 0.3 else {}
    return [_job_of(chance, name, fewer, {"parallelism": pods, "completions": pods})]


def _elastic_job(chance: random.Random, name: str) -> list[JsonObject]:
    return [_job_of(chance, name, {ELASTIC_JOB: "true"}, {"parallelism": chance.choice((1, 2, 3))})]


def _job_of(chance: random.Random, name: str, annotations: dict[str, str], size: JsonObject) -> JsonObject:
    template = {"metadata": {"annotations": _lasts(chance)}, "spec": _containers(chance)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": _labels(chance), "annotations": annotations},
        "spec": {"suspend": chance.random() < 0.7, "template": template, **size},
    }


def _pod(chance: random.Random, name: str) -> list[JsonObject]:
    return [member(name, _labels(chance), _lasts(chance), _containers(chance))]


def _group(chance: random.Random, name: str) -> list[JsonObject]:
    labels, lasts, spec = _labels(chance) | {POD_GROUP_NAME: name}, _lasts(chance), _containers(chance)
    return [member(f"{name}-{index}", labels, lasts | {POD_GROUP_TOTAL_COUNT: "2"}, spec) for index in range(2)]


def member(name: str, labels: dict[str, str], annotations: dict[str, str], spec: JsonObject) -> JsonObject:
    """A pod that a queue manages."""
    meta = {"name": name, "namespace": "default", "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _labels(chance: random.Random) -> dict[str, str]:
    urgent = {"kueue.x-k8s.io/priority-class": "urgent"} if chance.random() < 0.4 else {}
    return {"kueue.x-k8s.io/queue-name": chance.choice(QUEUES), **urgent}


def _lasts(chance: random.Random) -> dict[str, str]:
    return {"kuelog.io/run-seconds": chance.choice(("3", "20", "36000", "36000"))}


def _containers(chance: random.Random) -> JsonObject:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": chance.choice(("1", "1", "2"))}}}
    return {"restartPolicy": "Never", "containers": [container]}
