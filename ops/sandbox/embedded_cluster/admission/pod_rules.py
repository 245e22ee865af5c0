"""Pods, and templates for pods, as the API server stores them and as it refuses them: what meets queues and cards."""

from collections.abc import Iterator
from typing import Any

from events.quantity import BadQuantity, parse_quantity
from ops.sandbox.embedded_cluster.admission.metadata_rules import label_problems
from ops.sandbox.embedded_cluster.admission.quantities import canonical
from ops.sandbox.embedded_cluster.failures import bad_request

Object = dict[str, Any]
Problems = list[tuple[str, str]]
TEMPLATES: dict[str, tuple[str, ...]] = {
    "jobs.batch": ("spec", "template"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
    "deployments.apps": ("spec", "template"),
    "replicasets.apps": ("spec", "template"),
    "statefulsets.apps": ("spec", "template"),
    "podtemplates": ("template",),
}
"""Where built-in kinds keep the template of their pods."""
_LISTS = ("initContainers", "containers")
_AMOUNTS = ("limits", "requests")
_ENDS = frozenset({"jobs.batch", "cronjobs.batch"})
"""Kinds whose pods must come to an end."""


def settled(key: str, value: Object) -> tuple[Object, Problems]:
    """The object with its pods as they are stored, and what is wrong with them. Raises 400 for what is no quantity."""
    problems: Problems = []
    if key == "pods":
        spec = _settled_spec(value.get("spec") or {}, "spec", problems, requests=True)
        return {**value, "spec": spec}, problems
    at = TEMPLATES.get(key)
    if at is None:
        return value, problems
    return _within(value, at, key, ".".join(at), problems), problems


def _within(value: Object, at: tuple[str, ...], key: str, path: str, problems: Problems) -> Object:
    if at:
        inner = value.get(at[0])
        return {**value, at[0]: _within(inner, at[1:], key, path, problems)} if isinstance(inner, dict) else value
    labels = (value.get("metadata") or {}).get("labels") or {}
    problems.extend(label_problems(labels, f"{path}.metadata.labels"))
    spec: Object = value.get("spec") or {}
    if key in _ENDS and spec.get("restartPolicy") not in ("OnFailure", "Never"):
        problems.append((f"{path}.spec.restartPolicy", 'Required value: valid values: "OnFailure", "Never"'))
    return {**value, "spec": _settled_spec(spec, f"{path}.spec", problems, requests=False)}


def _settled_spec(spec: Object, path: str, problems: Problems, *, requests: bool) -> Object:
    found = dict(spec)
    if not spec.get("containers"):
        problems.append((f"{path}.containers", "Required value"))
    for name in _LISTS:
        if spec.get(name):
            found[name] = [
                _settled_container(one, f"{path}.{name}[{index}]", problems, requests=requests)
                for index, one in enumerate(spec[name])
            ]
    return found


def _settled_container(container: Object, path: str, problems: Problems, *, requests: bool) -> Object:
    problems.extend((f"{path}.{name}", "Required value") for name in ("name", "image") if not container.get(name))
    resources = dict(container.get("resources") or {})
    for name in _AMOUNTS:
        if resources.get(name):
            resources[name] = {what: _quantity(amount) for what, amount in resources[name].items()}
    problems.extend(_amounts(resources, f"{path}.resources"))
    if requests and resources.get("limits"):
        resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    return {**container, "resources": resources}


def _quantity(amount: Any) -> str:
    try:
        return canonical(amount)
    except BadQuantity as problem:
        raise bad_request(f"quantities must match the regular expression: {problem}") from problem


def _amounts(resources: Object, path: str) -> Iterator[tuple[str, str]]:
    limits: Object = resources.get("limits") or {}
    for name in _AMOUNTS:
        for what, amount in (resources.get(name) or {}).items():
            value = parse_quantity(amount)
            if value < 0:
                yield f"{path}.{name}[{what}]", f'Invalid value: "{amount}": must be greater than or equal to 0'
            if is_extended(what) and value.denominator != 1:
                yield f"{path}.{name}[{what}]", f'Invalid value: "{amount}": must be an integer'
    for what, amount in (resources.get("requests") or {}).items():
        if what not in limits:
            if is_extended(what):
                yield f"{path}.limits", "Required value: Limit must be set for non overcommitable resources"
        elif is_extended(what) and parse_quantity(amount) != parse_quantity(limits[what]):
            yield f"{path}.requests", f'Invalid value: "{amount}": must be equal to {what} limit of {limits[what]}'
        elif parse_quantity(amount) > parse_quantity(limits[what]):
            yield (
                f"{path}.requests",
                f'Invalid value: "{amount}": must be less than or equal to {what} limit of {limits[what]}',
            )


def is_extended(resource: str) -> bool:
    """Whether a resource is one that a device plugin counts."""
    return "/" in resource and "kubernetes.io/" not in resource
