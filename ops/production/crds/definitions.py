"""CustomResourceDefinitions, made from the typed API structs (docs/rules/objects.md#versions)."""

import msgspec

from events.api.jobs import ApiPriorityClass
from events.api.kueue import (
    ApiAdmissionCheck,
    ApiClusterQueue,
    ApiCohort,
    ApiLocalQueue,
    ApiResourceFlavor,
)
from events.api.multikueue import ApiMultiKueueCluster, ApiMultiKueueConfig
from events.api.provisioning import ApiProvisioningRequestConfig
from events.api.topology import ApiTopology
from events.api.workload import ApiWorkload
from events.json_object import JsonObject
from ops.production.crds.bounded import with_bounds
from ops.production.crds.field_rules import with_field_rules
from ops.production.crds.list_keys import with_list_keys
from ops.production.crds.open_api import OPEN, open_api
from ops.production.crds.rules import with_rules

GROUP = "kueue.x-k8s.io"
Column = tuple[str, str] | tuple[str, str, str]
"""Name, path, and the type where it is not a text."""


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """What a definition says besides its schema."""

    kind: str
    plural: str
    struct: type
    namespaced: bool = False
    short: tuple[str, ...] = ()
    status: bool = True
    columns: tuple[Column, ...] = ()
    selectable: tuple[str, ...] = ()
    flat: bool = False
    """Its fields stand beside metadata, not below spec."""
    renamed: bool = False
    """v1beta1 has other field names: nothing of the specification is dropped, since no webhook converts it."""


DEFINITIONS = (
    Definition(
        kind="ClusterQueue",
        plural="clusterqueues",
        struct=ApiClusterQueue,
        short=("cq",),
        columns=(
            ("Cohort", ".spec.cohortName"),
            ("Strategy", ".spec.queueingStrategy"),
            ("Pending Workloads", ".status.pendingWorkloads", "integer"),
            ("Admitted Workloads", ".status.admittedWorkloads", "integer"),
        ),
        renamed=True,
    ),
    Definition(kind="Cohort", plural="cohorts", struct=ApiCohort, short=("co",), renamed=True),
    Definition(
        kind="LocalQueue",
        plural="localqueues",
        struct=ApiLocalQueue,
        namespaced=True,
        short=("queue", "queues", "lq"),
        columns=(
            ("ClusterQueue", ".spec.clusterQueue"),
            ("Pending Workloads", ".status.pendingWorkloads", "integer"),
            ("Admitted Workloads", ".status.admittedWorkloads", "integer"),
        ),
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
        selectable=(".status.admission.clusterQueue",),
        renamed=True,
    ),
    Definition(
        kind="WorkloadPriorityClass",
        plural="workloadpriorityclasses",
        struct=ApiPriorityClass,
        short=("wpc",),
        status=False,
        columns=(("Value", ".value", "integer"),),
        flat=True,
    ),
    Definition(
        kind="AdmissionCheck",
        plural="admissionchecks",
        struct=ApiAdmissionCheck,
        short=("ac",),
        columns=(("Controller", ".spec.controllerName"),),
    ),
    Definition(kind="Topology", plural="topologies", struct=ApiTopology, short=("topo",), status=False),
    Definition(
        kind="ProvisioningRequestConfig",
        plural="provisioningrequestconfigs",
        struct=ApiProvisioningRequestConfig,
        short=("prc",),
        status=False,
    ),
    Definition(
        kind="MultiKueueCluster",
        plural="multikueueclusters",
        struct=ApiMultiKueueCluster,
        short=("mkc",),
        columns=(("Connected", '.status.conditions[?(@.type=="Active")].status'),),
        renamed=True,
    ),
    Definition(
        kind="MultiKueueConfig", plural="multikueueconfigs", struct=ApiMultiKueueConfig, short=("mkconf",), status=False
    ),
)


def manifests() -> list[JsonObject]:
    """The CustomResourceDefinitions as they are applied, in the order in which they are."""
    return [_manifest(definition) for definition in DEFINITIONS]


def _manifest(definition: Definition) -> JsonObject:
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
        _version(definition, "v1beta1", with_list_keys(definition.kind, dict(OPEN)), storage=False),
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


def _version(definition: Definition, name: str, schema: JsonObject, *, storage: bool) -> JsonObject:
    version: JsonObject = {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}
    if definition.status:
        version["subresources"] = {"status": {}}
    columns = [(*column, "string")[:3] for column in definition.columns]
    version["additionalPrinterColumns"] = [
        {"name": column, "type": kind, "jsonPath": path}
        for column, path, kind in [*columns, ("Age", ".metadata.creationTimestamp", "date")]
    ]
    if definition.selectable and storage:
        version["selectableFields"] = [{"jsonPath": path} for path in definition.selectable]
    return version


def _schema(definition: Definition) -> JsonObject:
    whole = open_api(definition.struct)
    kept = {name: value for name, value in whole["properties"].items() if name not in ("metadata", "status")}
    required = [name for name in whole.get("required", ()) if name in kept]
    if "spec" in kept:
        kept["spec"] = with_rules(definition.kind, kept["spec"], open_ended=definition.renamed)
    if definition.status:
        kept["status"] = _status(definition)
    schema: JsonObject = {
        "type": "object",
        "description": whole.get("description", definition.kind),
        "properties": {"metadata": {"type": "object"}, **kept},
    }
    if required:
        schema["required"] = required
    kind = definition.kind
    return with_field_rules(kind, with_bounds(kind, with_list_keys(kind, schema)))


def _status(definition: Definition) -> JsonObject:
    """Kept as it comes; selectable fields have to be named."""
    status = dict(OPEN)
    for path in definition.selectable:
        *parts, last = path.removeprefix(".status.").split(".")
        inner: JsonObject = {last: {"type": "string"}}
        for part in reversed(parts):
            inner = {part: {**OPEN, "properties": inner}}
        status["properties"] = inner
    return status
