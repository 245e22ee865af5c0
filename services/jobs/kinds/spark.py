"""SparkApplication: a driver and executors, described by cores and JVM memory instead of pod templates."""

import re
from typing import Any

from events.job_kind import JobKind
from events.json_object import JsonObject, array_at, object_at, objects_at
from events.json_path import FieldBroken, get, whole
from services.jobs.pod_sets.pod_set import InjectionForm, Pods

_MEMORY = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_KIB = {"": 1, "k": 1, "m": 1024, "g": 1024**2, "t": 1024**3}
_LEAST_OVERHEAD_KIB = 384 * 1024
_JVM_TENTHS, _OTHER_TENTHS = 1, 4
"""Spark's memory overhead, in tenths: what is not a JVM needs more beside it."""


def spark_pods(kind: JobKind, job: JsonObject) -> list[Pods]:
    """Driver and executors. Raises `FieldBroken`."""
    del kind
    executors = whole(job, "spec.executor.instances", 1)
    if get(job, ("spec", "dynamicAllocation", "enabled")) is True:
        executors = whole(job, "spec.dynamicAllocation.initialExecutors", executors)
    return [_role(job, "driver", 1), _role(job, "executor", executors)]


def _role(job: JsonObject, role: str, count: int) -> Pods:
    at = ("spec", role)
    spec = dict(object_at(job, *at))
    template = object_at(spec, "template")
    inner = object_at(template, "spec")
    word = f"spark-kubernetes-{role}"
    containers = objects_at(inner, "containers")
    asked: JsonObject = {"cpu": _cpu(spec, role), "memory": f"{_memory_kib(job, spec, role)}Ki"}
    limits: JsonObject = {"memory": asked["memory"]}
    gpu = object_at(spec, "gpu")
    if gpu.get("name"):
        limits[str(gpu["name"])] = gpu.get("quantity", 0)
    main = next((one for one in containers if one.get("name") == word), containers[0] if containers else {})
    old = object_at(main, "resources")
    resources = {
        "requests": {**object_at(old, "requests"), **asked},
        "limits": {**object_at(old, "limits"), **limits},
    }
    others = [one for one in containers if one is not main]
    pod = {
        **inner,
        "containers": [{**main, "name": word, "resources": resources}, *others],
        "nodeSelector": {**object_at(inner, "nodeSelector"), **object_at(spec, "nodeSelector")},
        "tolerations": [*array_at(inner, "tolerations"), *array_at(spec, "tolerations")],
    }
    meta = object_at(template, "metadata")
    annotations = {**object_at(meta, "annotations"), **object_at(spec, "annotations")}
    shape = {"metadata": {**meta, "annotations": annotations}, "spec": pod}
    return Pods(name=role, count=count, template=shape, at=at, form=InjectionForm.FLAT)


def _cpu(spec: JsonObject, role: str) -> Any:
    return spec.get("coreRequest") or whole({role: spec}, f"{role}.cores", 1)


def _memory_kib(job: JsonObject, spec: JsonObject, role: str) -> int:
    memory = _kib(spec.get("memory") or "1g", f"spec.{role}.memory")
    if spec.get("memoryOverhead"):
        return memory + _kib(spec["memoryOverhead"], f"spec.{role}.memoryOverhead")
    tenths = _JVM_TENTHS if get(job, ("spec", "type")) in (None, "Java", "Scala") else _OTHER_TENTHS
    return memory + max(memory * tenths // 10, _LEAST_OVERHEAD_KIB)


def _kib(text: Any, field: str) -> int:
    found = _MEMORY.fullmatch(str(text))
    if found is None:
        raise FieldBroken(field, f"{text!r} is not an amount of memory", "e.g. 512m or 4g")
    number = int(found[1])
    return number * _KIB[found[2].lower()] if found[2] else max(number // 1024, 1)
