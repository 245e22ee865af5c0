"""SparkApplication: a driver and executors, described by cores and JVM memory instead of pod templates."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from events.job_kind import JobKind
from events.json_object import JsonMapping, JsonObject, array_at, object_at, objects_at
from events.json_path import FieldBroken, get, put, whole
from events.whole_number import whole_number
from services.jobs.pod_sets.pod_set import InjectionForm, Pods

_MEMORY = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_SHARE = re.compile(r"\d{1,9}(\.\d{1,9})?")
_KIB = {"": 1, "k": 1, "m": 1024, "g": 1024**2, "t": 1024**3}
_LEAST_OVERHEAD_KIB = 384 * 1024
_EXECUTORS = 2
"""How many Spark starts where nobody says that."""
_NODES, _SETTINGS = ("spec", "nodeSelector"), ("spec", "sparkConf")
_OF_JVM, _OF_OTHERS = Fraction(1, 10), Fraction(4, 10)
"""Spark's memory overhead, as a share of the memory: what is not a JVM needs more beside it."""


def spark_pods(kind: JobKind, job: JsonObject) -> list[Pods]:
    """Driver and executors: what Spark's operator makes of their descriptions. Raises `FieldBroken`."""
    del kind
    job = nodes_by_role(job)
    executors = whole(job, "spec.executor.instances", _counted(job, "spark.executor.instances", _EXECUTORS))
    if get(job, ("spec", "dynamicAllocation", "enabled")) is True:
        executors = whole(job, "spec.dynamicAllocation.initialExecutors", executors)
    return [_role(job, "driver", 1), _role(job, "executor", executors)]


def nodes_by_role(job: JsonObject) -> JsonObject:
    """The application with what it says of the nodes of all its pods said of each role: its operator refuses one that says both."""
    together = object_at(job, *_NODES)
    if not together:
        return job
    for role in ("driver", "executor"):
        at = ("spec", role, "nodeSelector")
        job = put(job, at, {**together, **object_at(job, *at)})
    return put(job, _NODES, None)


def _role(job: JsonObject, role: str, count: int) -> Pods:
    at = ("spec", role)
    spec = {**_configured(job, role), **object_at(job, *at)}
    template = object_at(spec, "template")
    inner = object_at(template, "spec")
    word = f"spark-kubernetes-{role}"
    containers = objects_at(inner, "containers")
    asked: JsonObject = {"cpu": _cpu(job, spec, role), "memory": f"{_memory_kib(job, spec, role)}Ki"}
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
        **{field: spec[field] for field in ("affinity", "priorityClassName") if spec.get(field)},
        "containers": [{**main, "name": word, "resources": resources}, *_and(others, objects_at(spec, "sidecars"))],
        "nodeSelector": {**object_at(inner, "nodeSelector"), **object_at(spec, "nodeSelector")},
        "tolerations": [*array_at(inner, "tolerations"), *array_at(spec, "tolerations")],
    }
    if first := _and(objects_at(inner, "initContainers"), objects_at(spec, "initContainers")):
        pod["initContainers"] = first
    meta = object_at(template, "metadata")
    words = {field: {**object_at(meta, field), **object_at(spec, field)} for field in ("labels", "annotations")}
    shape = {"metadata": {**meta, **{field: those for field, those in words.items() if those}}, "spec": pod}
    return Pods(name=role, count=count, template=shape, at=at, form=InjectionForm.FLAT)


def _and(containers: Sequence[JsonMapping], more: Sequence[JsonMapping]) -> list[JsonMapping]:
    """With those that are not there yet: the operator tells them by name and image."""
    there = [(one.get("name"), one.get("image")) for one in containers]
    return [*containers, *(one for one in more if (one.get("name"), one.get("image")) not in there)]


def _configured(job: JsonObject, role: str) -> JsonObject:
    """What Spark's own settings say of a role, where its description says nothing."""
    settings = object_at(job, *_SETTINGS)
    named = {
        "coreRequest": f"spark.kubernetes.{role}.request.cores",
        "memory": f"spark.{role}.memory",
        "memoryOverhead": f"spark.{role}.memoryOverhead",
    }
    return {field: settings[setting] for field, setting in named.items() if settings.get(setting)}


def _counted(job: JsonObject, setting: str, default: int) -> int:
    """A number among Spark's settings. Raises `FieldBroken`."""
    text = object_at(job, *_SETTINGS).get(setting)
    if text is None:
        return default
    number = whole_number(str(text))
    if number is None:
        raise FieldBroken(f"spec.sparkConf[{setting}]", f"{text!r} is not a whole number of at least 0", "e.g. 1")
    return number


def _cpu(job: JsonObject, spec: JsonObject, role: str) -> Any:
    cores = _counted(job, f"spark.{role}.cores", 1)
    return spec.get("coreRequest") or whole(job, f"spec.{role}.cores", cores)


def _memory_kib(job: JsonObject, spec: JsonObject, role: str) -> int:
    memory = _kib(spec.get("memory") or "1g", f"spec.{role}.memory")
    if spec.get("memoryOverhead"):
        return memory + _kib(spec["memoryOverhead"], f"spec.{role}.memoryOverhead")
    return memory + max(int(memory * _overhead(job)), _LEAST_OVERHEAD_KIB)


def _overhead(job: JsonObject) -> Fraction:
    """The share of its memory that a role needs beside it. Raises `FieldBroken`."""
    said = get(job, ("spec", "memoryOverheadFactor"))
    said = said or object_at(job, *_SETTINGS).get("spark.kubernetes.memoryOverheadFactor")
    if not said:
        return _OF_JVM if get(job, ("spec", "type")) in (None, "Java", "Scala") else _OF_OTHERS
    if _SHARE.fullmatch(str(said)) is None:
        raise FieldBroken("spec.memoryOverheadFactor", f"{said!r} is not a share of the memory", "e.g. 0.1")
    return Fraction(str(said))


def _kib(text: Any, field: str) -> int:
    found = _MEMORY.fullmatch(str(text))
    if found is None:
        raise FieldBroken(field, f"{text!r} is not an amount of memory", "e.g. 512m or 4g")
    number = int(found[1])
    return number * _KIB[found[2].lower()] if found[2] else max(number // 1024, 1)
