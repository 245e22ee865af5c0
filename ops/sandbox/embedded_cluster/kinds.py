"""The kinds that the embedded API serves: the built-in ones, and those that custom resource definitions add."""

from typing import Any

import msgspec

from ops.sandbox.embedded_cluster.changes.merge_rules import MergeRule
from services.watcher.settings.watched_kinds import CLUSTER_KINDS, KUEUE


class PrinterColumn(msgspec.Struct, frozen=True):
    """A column of the table that kubectl prints: its name, and the path of the value below the object."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0
    """Above 0 it is only shown where somebody asks for wide output."""


class ApiKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind in one version."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    short: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    status: bool = False
    scale: dict[str, str] | None = None
    columns: tuple[PrinterColumn, ...] = ()
    schema: dict[str, Any] | None = None
    storage: str = ""
    """The version in which objects are kept; the same as `version` unless a definition has several."""
    selectable: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def key(self) -> str:
        """What the store files it under: one place for all versions."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def merging(self) -> MergeRule:
        """How its objects merge."""
        return MergeRule(self.schema)

    @property
    def singular(self) -> str:
        """The name in the singular."""
        return self.kind.lower()


def _kind(
    group: str,
    version: str,
    kind: str,
    plural: str,
    short: str = "",
    *,
    namespaced: bool = True,
    status: bool = False,
    scale: dict[str, str] | None = None,
    columns: tuple[tuple[str, str], ...] = (),
    wide: tuple[tuple[str, str], ...] = (),
    categories: tuple[str, ...] = (),
) -> ApiKind:
    return ApiKind(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        namespaced=namespaced,
        short=tuple(short.split()),
        status=status,
        scale=scale,
        columns=(
            *(PrinterColumn(name, path) for name, path in columns),
            *(PrinterColumn(name, path, priority=1) for name, path in wide),
        ),
        categories=categories,
    )


_REPLICAS = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
_OF_TEMPLATES = (("Containers", "@containers"), ("Images", "@images"))
_KINDS: tuple[ApiKind, ...] = (
    _kind(
        "", "v1", "Namespace", "namespaces", "ns", namespaced=False, status=True, columns=(("Status", "status.phase"),)
    ),
    _kind(
        "",
        "v1",
        "Node",
        "nodes",
        "no",
        namespaced=False,
        status=True,
        columns=(("Status", "@node-status"), ("Version", "status.nodeInfo.kubeletVersion")),
        wide=(("Zone", "metadata.labels.zone"), ("Product", "@node-product"), ("Cards", "@node-cards")),
    ),
    _kind(
        "",
        "v1",
        "Pod",
        "pods",
        "po",
        status=True,
        categories=("all",),
        columns=(
            ("Ready", "@pod-ready"),
            ("Status", "@pod-status"),
            ("Restarts", "@pod-restarts"),
            ("Node", "spec.nodeName"),
        ),
        wide=_OF_TEMPLATES,
    ),
    _kind("", "v1", "PodTemplate", "podtemplates"),
    _kind(
        "",
        "v1",
        "Event",
        "events",
        "ev",
        columns=(("Type", "type"), ("Reason", "reason"), ("Object", "@event-object"), ("Message", "message")),
    ),
    _kind("", "v1", "ConfigMap", "configmaps", "cm", columns=(("Data", "@data"),)),
    _kind("", "v1", "Secret", "secrets", columns=(("Type", "type"), ("Data", "@data"))),
    _kind(
        "",
        "v1",
        "Service",
        "services",
        "svc",
        categories=("all",),
        columns=(("Type", "@service-type"), ("Cluster-IP", "spec.clusterIP"), ("Port(s)", "@service-ports")),
        wide=(("Selector", "@selector"),),
    ),
    _kind("", "v1", "ServiceAccount", "serviceaccounts", "sa", columns=(("Secrets", "@secrets"),)),
    _kind("", "v1", "LimitRange", "limitranges", "limits"),
    _kind(
        "",
        "v1",
        "ResourceQuota",
        "resourcequotas",
        "quota",
        status=True,
        columns=(("Request", "@quota-requests"), ("Limit", "@quota-limits")),
    ),
    _kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", status=True),
    _kind(
        "batch",
        "v1",
        "Job",
        "jobs",
        status=True,
        categories=("all",),
        columns=(("Status", "@job-status"), ("Completions", "@job-completions"), ("Suspended", "spec.suspend")),
        wide=_OF_TEMPLATES,
    ),
    _kind(
        "batch",
        "v1",
        "CronJob",
        "cronjobs",
        "cj",
        status=True,
        categories=("all",),
        columns=(
            ("Schedule", "spec.schedule"),
            ("Suspend", "spec.suspend"),
            ("Active", "@active-jobs"),
            ("Last-Schedule", "status.lastScheduleTime"),
        ),
        wide=_OF_TEMPLATES,
    ),
    _kind(
        "scheduling.k8s.io",
        "v1",
        "PriorityClass",
        "priorityclasses",
        "pc",
        namespaced=False,
        columns=(("Value", "value"), ("Global-Default", "globalDefault")),
    ),
    _kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False, columns=(("Handler", "handler"),)),
    _kind(
        "apps",
        "v1",
        "Deployment",
        "deployments",
        "deploy",
        status=True,
        scale=_REPLICAS,
        categories=("all",),
        columns=(
            ("Ready", "@replicas-ready"),
            ("Up-to-date", "@replicas-updated"),
            ("Available", "@replicas-available"),
        ),
        wide=_OF_TEMPLATES,
    ),
    _kind(
        "apps",
        "v1",
        "ReplicaSet",
        "replicasets",
        "rs",
        status=True,
        scale=_REPLICAS,
        categories=("all",),
        columns=(("Desired", "spec.replicas"), ("Current", "@replicas"), ("Ready", "@replicas-ready")),
        wide=_OF_TEMPLATES,
    ),
    _kind(
        "apps",
        "v1",
        "StatefulSet",
        "statefulsets",
        "sts",
        status=True,
        scale=_REPLICAS,
        categories=("all",),
        columns=(("Ready", "@replicas-ready"),),
        wide=_OF_TEMPLATES,
    ),
    _kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False),
    _kind(
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRoleBinding",
        "clusterrolebindings",
        namespaced=False,
        columns=(("Role", "@bound-role"),),
    ),
    _kind("rbac.authorization.k8s.io", "v1", "Role", "roles"),
    _kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", columns=(("Role", "@bound-role"),)),
    _kind(
        "policy",
        "v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        "pdb",
        status=True,
        columns=(("Min Available", "spec.minAvailable"), ("Max Unavailable", "spec.maxUnavailable")),
    ),
    _kind(
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "hpa",
        status=True,
        columns=(("MinPods", "spec.minReplicas"), ("MaxPods", "spec.maxReplicas")),
    ),
    _kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "netpol"),
    _kind(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        namespaced=False,
    ),
    _kind(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        namespaced=False,
    ),
    _kind("apiregistration.k8s.io", "v1", "APIService", "apiservices", namespaced=False, status=True),
    _kind("resource.k8s.io", "v1", "DeviceClass", "deviceclasses", namespaced=False),
    _kind(
        "resource.k8s.io", "v1", "ResourceClaim", "resourceclaims", status=True, columns=(("State", "@claim-state"),)
    ),
    _kind("resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates"),
    _kind(
        "resource.k8s.io",
        "v1",
        "ResourceSlice",
        "resourceslices",
        namespaced=False,
        columns=(("Node", "spec.nodeName"), ("Driver", "spec.driver"), ("Pool", "spec.pool.name")),
    ),
    _kind("coordination.k8s.io", "v1", "Lease", "leases", columns=(("Holder", "spec.holderIdentity"),)),
    _kind(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "crd crds",
        namespaced=False,
        status=True,
    ),
)
_LISTED = {(one.group, one.plural) for one in _KINDS}
BUILT_IN: tuple[ApiKind, ...] = (
    *_KINDS,
    *(
        _kind(one.group, one.version, one.kind, one.plural, namespaced=one.namespaced)
        for one in CLUSTER_KINDS
        if one.group != KUEUE and (one.group, one.plural) not in _LISTED
    ),
)
"""All that are watched and that no definition adds are among them."""


def kinds_of(definition: dict[str, Any]) -> list[ApiKind]:
    """The kinds that a CustomResourceDefinition adds, one per served version."""
    spec = definition["spec"]
    names = spec["names"]
    storage = next((one["name"] for one in spec["versions"] if one.get("storage")), spec["versions"][0]["name"])
    return [
        ApiKind(
            group=spec["group"],
            version=one["name"],
            kind=names["kind"],
            plural=names["plural"],
            namespaced=spec.get("scope") == "Namespaced",
            short=tuple(names.get("shortNames", ())),
            categories=tuple(names.get("categories", ())),
            status="status" in one.get("subresources", {}),
            scale=one.get("subresources", {}).get("scale"),
            columns=tuple(
                PrinterColumn(
                    column["name"],
                    column["jsonPath"].lstrip("."),
                    column.get("type", "string"),
                    column.get("priority", 0),
                )
                for column in one.get("additionalPrinterColumns", ())
            ),
            schema=one.get("schema", {}).get("openAPIV3Schema"),
            storage=storage,
            selectable=tuple(field["jsonPath"].lstrip(".") for field in one.get("selectableFields", ())),
        )
        for one in spec["versions"]
        if one.get("served", True)
    ]
