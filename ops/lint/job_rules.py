"""What the API server refuses of a Job of batch/v1, before any webhook is asked."""

from events.json_object import JsonMapping, object_at, objects_at
from events.quantity import BadQuantity, parse_quantity
from ops.lint.identity import why_no_label
from services.validation.fields.names import is_extended
from services.validation.problem import Problem, duplicate, invalid, not_supported, required

_COUNTS = ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
_MODES = ("NonIndexed", "Indexed")
_ENDS = ("Never", "OnFailure")
_POD = "spec.template.spec"


def batch_job_problems(value: JsonMapping) -> list[Problem]:
    """Everything of it at once."""
    if value.get("kind") != "Job" or value.get("apiVersion") != "batch/v1":
        return []
    spec = object_at(value, "spec")
    pod = object_at(spec, "template", "spec")
    return [*_counts(spec), *_ending(pod), *_containers(pod)]


def _counts(spec: JsonMapping) -> list[Problem]:
    found = [
        invalid(f"spec.{name}", number, f"{number} is negative", "at least 0")
        for name in _COUNTS
        if isinstance(number := spec.get(name), int) and number < 0
    ]
    mode = spec.get("completionMode", _MODES[0])
    if mode not in _MODES:
        found.append(not_supported("spec.completionMode", mode, _MODES))
    elif mode == "Indexed" and spec.get("completions") is None:
        found.append(
            required(
                "spec.completions",
                "an Indexed Job has to say how many pods complete it",
                "completions: with their number",
            )
        )
    return found


def _ending(pod: JsonMapping) -> list[Problem]:
    policy = pod.get("restartPolicy")
    if policy in _ENDS:
        return []
    said = f"restartPolicy {policy}" if policy else "no restartPolicy"
    what = f"{said}: the pods of a Job have to come to an end"
    return [required(f"{_POD}.restartPolicy", what, "restartPolicy: Never, or OnFailure")]


def _containers(pod: JsonMapping) -> list[Problem]:
    found: list[Problem] = []
    if not pod.get("containers"):
        found.append(required(f"{_POD}.containers", "a pod has to have a container", "containers: with one at least"))
    names: set[str] = set()
    for part in ("initContainers", "containers"):
        for index, one in enumerate(objects_at(pod, part)):
            at, name = f"{_POD}.{part}[{index}]", one.get("name")
            if not isinstance(name, str) or not name:
                found.append(required(f"{at}.name", "a container has to have a name", "name: e.g. main"))
            elif reasons := why_no_label(name):
                found.append(invalid(f"{at}.name", name, f"{name!r}: {'; '.join(reasons)}", "e.g. main"))
            elif name in names:
                found.append(duplicate(f"{at}.name", name, "another name"))
            names.add(str(name))
            if not one.get("image"):
                found.append(required(f"{at}.image", "a container has to have an image", "image: with its name"))
            found.extend(_amounts(object_at(one, "resources"), f"{at}.resources"))
    return found


def _amounts(resources: JsonMapping, at: str) -> list[Problem]:
    """Requests above limits, and cards and the like without a limit; what is no quantity is told by another rule."""
    limits = object_at(resources, "limits")
    found: list[Problem] = []
    for name, asked in object_at(resources, "requests").items():
        field = f"{at}.requests[{name}]"
        try:
            if name in limits and parse_quantity(asked) > parse_quantity(limits[name]):
                what = f"{asked} are requested, and the limit is {limits[name]}"
                found.append(invalid(field, asked, what, f"{limits[name]} at most, or a higher limit"))
        except BadQuantity:
            continue
        if name not in limits and is_extended(name):
            what = f"{name} is requested without a limit, and nobody can have more of it than there is"
            found.append(required(f"{at}.limits[{name}]", what, f"limits: {{{name}: {asked}}}"))
    return found
