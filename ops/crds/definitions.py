"""CustomResourceDefinitions from the typed API structs: schema, short names, printer columns, status (kueue-apis §1)."""

from typing import Any

import msgspec

from events.api.jobs import ApiPriorityClass
from events.api.kueue import (
    ApiAdmissionCheck,
    ApiClusterQueue,
    ApiCohort,
    ApiLocalQueue,
    ApiResourceFlavor,
    ApiWorkload,
)

GROUP = "kueue.x-k8s.io"
Plain = dict[str, Any]


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """What a definition says besides its schema."""

    kind: str
    plural: str
    struct: type
    namespaced: bool = False
    short: tuple[str, ...] = ()
    status: bool = True
    columns: tuple[tuple[str, str], ...] = ()
    flat: bool = False
    """Its fields stand beside metadata, not below spec."""


DEFINITIONS = (
    Definition(
        kind="ClusterQueue",
        plural="clusterqueues",
        struct=ApiClusterQueue,
        short=("cq",),
        columns=(("Cohort", ".spec.cohortName"), ("Strategy", ".spec.queueingStrategy")),
    ),
    Definition(kind="Cohort", plural="cohorts", struct=ApiCohort, short=("co",)),
    Definition(
        kind="LocalQueue",
        plural="localqueues",
        struct=ApiLocalQueue,
        namespaced=True,
        short=("queue", "queues", "lq"),
        columns=(("ClusterQueue", ".spec.clusterQueue"),),
    ),
    Definition(
        kind="ResourceFlavor",
        plural="resourceflavors",
        struct=ApiResourceFlavor,
        short=("flavor", "flavors", "rf"),
        status=False,
    ),
    Definition(
        kind="Workload",
        plural="workloads",
        struct=ApiWorkload,
        namespaced=True,
        short=("kwl", "kueueworkload", "kueueworkloads"),
        columns=(
            ("Queue", ".spec.queueName"),
            ("Reserved in", ".status.admission.clusterQueue"),
            ("Admitted", '.status.conditions[?(@.type=="Admitted")].status'),
            ("Finished", '.status.conditions[?(@.type=="Finished")].status'),
        ),
    ),
    Definition(
        kind="WorkloadPriorityClass",
        plural="workloadpriorityclasses",
        struct=ApiPriorityClass,
        short=("wpc",),
        status=False,
        columns=(("Value", ".value"),),
        flat=True,
    ),
    Definition(kind="AdmissionCheck", plural="admissionchecks", struct=ApiAdmissionCheck, short=("ac",)),
)


def manifests() -> list[Plain]:
    """All definitions, in order."""
    return [_manifest(definition) for definition in DEFINITIONS]


def _manifest(definition: Definition) -> Plain:
    names = {
        "kind": definition.kind,
        "listKind": f"{definition.kind}List",
        "plural": definition.plural,
        "singular": definition.kind.lower(),
        "categories": ["kueue"],
    }
    if definition.short:
        names["shortNames"] = list(definition.short)
    versions = [
        _version(definition, "v1beta2", _schema(definition), storage=True),
        # v1beta1 names some fields otherwise; the watcher reads both, so nothing may be pruned here.
        _version(
            definition, "v1beta1", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, storage=False
        ),
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{definition.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": names,
            "scope": "Namespaced" if definition.namespaced else "Cluster",
            "versions": versions,
        },
    }


def _version(definition: Definition, name: str, schema: Plain, *, storage: bool) -> Plain:
    version: Plain = {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}
    if definition.status:
        version["subresources"] = {"status": {}}
    if definition.columns:
        version["additionalPrinterColumns"] = [
            {"name": column, "type": "string", "jsonPath": path} for column, path in definition.columns
        ]
    return version


def _schema(definition: Definition) -> Plain:
    components: Plain
    _, components = msgspec.json.schema_components([definition.struct])
    whole = _inlined(components[definition.struct.__name__], components)
    properties = whole["properties"]
    kept = {name: value for name, value in properties.items() if name != "metadata"}
    if "status" in kept or definition.status:
        kept["status"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema: Plain = {"type": "object", "properties": {"metadata": {"type": "object"}, **kept}}
    if definition.flat:
        schema["required"] = ["value"]
    return schema


def _inlined(schema: Any, components: Plain) -> Any:  # noqa: C901 - one case after the other
    """References resolved, and JSON Schema's words as OpenAPI v3 has them."""
    if isinstance(schema, list):
        return [_inlined(one, components) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in ("PodTemplate", "ObjectMeta"):
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        return _inlined(components[name], components)
    if "anyOf" in schema:
        return _any_of(schema, components)
    found = {name: value for name, value in schema.items() if name not in ("title", "default", "description")}
    if not found:
        return {"x-kubernetes-preserve-unknown-fields": True}
    if "properties" in found:
        found["properties"] = {name: _inlined(value, components) for name, value in schema["properties"].items()}
        default = {
            name: value["default"]
            for name, value in schema["properties"].items()
            if isinstance(value, dict) and isinstance(value.get("default"), str | bool | int) and value["default"] != ""
        }
        for name, value in default.items():
            found["properties"][name]["default"] = value
    if isinstance(found.get("additionalProperties"), dict):
        found["additionalProperties"] = _inlined(found["additionalProperties"], components)
    if "items" in found:
        found["items"] = _inlined(found["items"], components)
    return found


def _any_of(schema: Plain, components: Plain) -> Plain:
    options = [one for one in schema["anyOf"] if one.get("type") != "null"]
    nullable = len(options) < len(schema["anyOf"])
    kinds = {one.get("type") for one in options}
    if kinds <= {"string", "integer", "number"} and len(kinds) > 1:
        found: Plain = {"x-kubernetes-int-or-string": True}
    else:
        found = _inlined(
            {**{k: v for k, v in schema.items() if k in ("maxItems", "minItems")}, **options[0]}, components
        )
    return {**found, "nullable": True} if nullable else found
