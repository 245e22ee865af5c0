"""Fields that the API does not know: dropped silently by the cluster, so named here, with the nearest known one."""

from difflib import get_close_matches
from typing import Any

from msgspec import inspect

from events.api.jobs import ApiPriorityClass
from events.api.kueue import ApiAdmissionCheck, ApiClusterQueue, ApiCohort, ApiLocalQueue, ApiResourceFlavor
from events.api.multikueue import ApiMultiKueueCluster, ApiMultiKueueConfig
from events.api.provisioning import ApiProvisioningRequestConfig
from events.api.topology import ApiTopology
from events.json_object import JsonObject, is_array, is_object
from services.validation.problem import Problem

CLOSED: dict[str, type] = {
    "ClusterQueue": ApiClusterQueue,
    "Cohort": ApiCohort,
    "LocalQueue": ApiLocalQueue,
    "ResourceFlavor": ApiResourceFlavor,
    "WorkloadPriorityClass": ApiPriorityClass,
    "AdmissionCheck": ApiAdmissionCheck,
    "Topology": ApiTopology,
    "ProvisioningRequestConfig": ApiProvisioningRequestConfig,
    "MultiKueueCluster": ApiMultiKueueCluster,
    "MultiKueueConfig": ApiMultiKueueConfig,
}
"""Kinds whose every field is known here."""
_ALWAYS = frozenset({"apiVersion", "kind", "metadata", "status"})


def unknown_fields(value: JsonObject) -> list[Problem]:
    """A problem for each field that the kind does not have."""
    struct = CLOSED.get(str(value.get("kind")))
    if struct is None:
        return []
    found: list[Problem] = []
    shown = {name: field for name, field in value.items() if name not in _ALWAYS}
    _walk(shown, inspect.type_info(struct), "", found)
    return found


def _walk(value: Any, kind: inspect.Type, path: str, found: list[Problem]) -> None:
    match kind:
        case inspect.UnionType():
            for option in kind.types:
                if isinstance(option, inspect.StructType | inspect.VarTupleType):
                    _walk(value, option, path, found)
        case inspect.Metadata():
            _walk(value, kind.type, path, found)
        case inspect.VarTupleType() if is_array(value):
            for index, one in enumerate(value):
                _walk(one, kind.item_type, f"{path}[{index}]", found)
        case inspect.StructType() if is_object(value):
            known = {field.encode_name: field.type for field in kind.fields}
            for name, inner in value.items():
                field = f"{path}.{name}" if path else name
                if name in known:
                    _walk(inner, known[name], field, found)
                else:
                    found.append(_problem(field, name, sorted(known)))
        case _:
            return


def _problem(field: str, name: str, known: list[str]) -> Problem:
    near = get_close_matches(name, known, n=1)
    return Problem(
        field=field,
        code="UnknownField",
        what=f"there is no field {name}",
        consequence="the API server drops it, and nothing it says takes effect",
        instead=near[0] if near else f"one of {', '.join(known)}",
    )
