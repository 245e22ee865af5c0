"""Whether an object has the fields and types that its kind asks for."""

import re

import msgspec
from msgspec import inspect

from events.api.jobs import ApiJob, ApiLimitRange, ApiNamespace, ApiPriorityClass, ApiResourceQuota, ApiRuntimeClass
from events.api.kueue import (
    ApiAdmissionCheck,
    ApiClusterQueue,
    ApiCohort,
    ApiLocalQueue,
    ApiResourceFlavor,
)
from events.api.meta import ApiStruct, ObjectMeta
from events.api.multikueue import ApiMultiKueueCluster, ApiMultiKueueConfig
from events.api.pods import ApiNode, ApiPod
from events.api.provisioning import ApiProvisioningRequestConfig
from events.api.topology import ApiTopology
from events.api.workload import ApiWorkload
from events.json_object import JsonMapping, object_at
from services.validation.problem import Problem

STRUCTS: dict[str, type[ApiStruct]] = {
    "AdmissionCheck": ApiAdmissionCheck,
    "ClusterQueue": ApiClusterQueue,
    "Cohort": ApiCohort,
    "Job": ApiJob,
    "LimitRange": ApiLimitRange,
    "LocalQueue": ApiLocalQueue,
    "MultiKueueCluster": ApiMultiKueueCluster,
    "MultiKueueConfig": ApiMultiKueueConfig,
    "Namespace": ApiNamespace,
    "Node": ApiNode,
    "Pod": ApiPod,
    "PriorityClass": ApiPriorityClass,
    "ProvisioningRequestConfig": ApiProvisioningRequestConfig,
    "ResourceFlavor": ApiResourceFlavor,
    "ResourceQuota": ApiResourceQuota,
    "RuntimeClass": ApiRuntimeClass,
    "Topology": ApiTopology,
    "Workload": ApiWorkload,
    "WorkloadPriorityClass": ApiPriorityClass,
}

_LIMITS = re.compile(r"(<=|>=) (-?\d+)$")


class _AnyObject(ApiStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()


def shape_problems(value: JsonMapping) -> list[Problem]:
    """The first place where the object is not what its kind asks for."""
    struct = STRUCTS.get(str(value.get("kind")), _AnyObject)
    try:
        msgspec.convert(value, struct)
    except msgspec.ValidationError as bad:
        return [_problem(str(bad), struct)]
    meta = object_at(value, "metadata")
    if struct is not _AnyObject and not meta.get("name") and not meta.get("generateName"):
        return [_missing("metadata.name", "name")]
    return []


def _missing(field: str, name: str) -> Problem:
    return Problem(
        field=field,
        code="Required",
        what=f"{name} is missing",
        consequence="the API server refuses the object",
        instead=f"{name}: with what is meant",
    )


def _problem(text: str, struct: type[ApiStruct]) -> Problem:
    message, _, where = text.partition(" - at `")
    field = where.rstrip("`").removeprefix("$").removeprefix(".")
    missing = re.fullmatch(r"Object missing required field `(.+)`", message)
    if missing is not None:
        name = missing.group(1)
        return _missing(f"{field}.{name}" if field else name, name)
    return Problem(
        field=field or "the object",
        code=_code(message),
        what=_in_plain_words(message),
        consequence="the API server refuses the object",
        instead=_instead(message) or _choices(struct, field),
    )


def _code(message: str) -> str:
    if message.startswith("Invalid enum value"):
        return "NotSupported"
    if "`str` of length <=" in message:
        return "TooLong"
    return "TooMany" if "of length <=" in message else "Invalid"


def _in_plain_words(message: str) -> str:
    wanted = re.fullmatch(r"Expected `(.+)`, got `(.+)`", message)
    if wanted is not None:
        return f"{_WORDS.get(wanted.group(2), wanted.group(2))} stands where {_kinds(wanted.group(1))} is expected"
    limit = _LIMITS.search(message)
    if limit is not None:
        more = "more" if limit.group(1) == "<=" else "fewer"
        if message.startswith("Expected `str`"):
            return f"a text of {more} than {limit.group(2)} characters"
        if message.startswith("Expected `int`"):
            return f"a number {'above' if limit.group(1) == '<=' else 'below'} {limit.group(2)}"
        return f"a list with {more} than {limit.group(2)} entries"
    unknown = re.fullmatch(r"Invalid enum value (.+)", message)
    return f"{unknown.group(1)} is not known here" if unknown is not None else message


def _choices(struct: type[ApiStruct], field: str) -> str:
    """The values that a field may have, for fields with a closed list."""
    kinds: list[inspect.Type] = [inspect.type_info(struct)]
    for name in re.sub(r"\[.*?\]", "", field).split("."):
        structs = [one for kind in kinds for one in _structs(kind)]
        kinds = [one.type for kind in structs for one in kind.fields if one.encode_name == name]
    literals = [one for kind in kinds for one in _options(kind) if isinstance(one, inspect.LiteralType)]
    return "one of " + ", ".join(str(value) for value in literals[0].values) if literals else ""


def _options(kind: inspect.Type) -> list[inspect.Type]:
    match kind:
        case inspect.UnionType():
            return [inner for one in kind.types for inner in _options(one)]
        case inspect.Metadata():
            return _options(kind.type)
        case inspect.VarTupleType():
            return _options(kind.item_type)
        case _:
            return [kind]


def _structs(kind: inspect.Type) -> list[inspect.StructType]:
    return [one for one in _options(kind) if isinstance(one, inspect.StructType)]


def _instead(message: str) -> str:
    wanted = re.fullmatch(r"Expected `(.+)`, got `.+`", message)
    if wanted is not None:
        return _kinds(wanted.group(1))
    limit = _LIMITS.search(message)
    if limit is not None:
        return f"{'at most' if limit.group(1) == '<=' else 'at least'} {limit.group(2)}"
    return ""


def _kinds(text: str) -> str:
    return " or ".join(_WORDS.get(one, one) for one in text.split(" | ") if one != "null")


_WORDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "nothing",
    "object": "a mapping",
    "str": "a text",
}
