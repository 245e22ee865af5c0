"""Which object a manifest means: its kind and version, its name and namespace, and whether another says the same."""

from collections.abc import Mapping, Sequence

from events.json_object import JsonMapping, object_at
from ops.files.manifests import Document
from services.validation.conversion.convert import ALPHAS, GROUP, STORED
from services.validation.fields.names import why_no_subdomain
from services.validation.problem import Problem, Severity, invalid

_LABEL_AT_MOST = 63
_KUEUE = frozenset(
    {
        "AdmissionCheck",
        "ClusterQueue",
        "Cohort",
        "LocalQueue",
        "MultiKueueCluster",
        "MultiKueueConfig",
        "ProvisioningRequestConfig",
        "ResourceFlavor",
        "Topology",
        "Workload",
        "WorkloadPriorityClass",
    }
)
_CORE = frozenset(
    {
        "Binding",
        "ConfigMap",
        "Endpoints",
        "Event",
        "LimitRange",
        "List",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Pod",
        "PodTemplate",
        "ReplicationController",
        "ResourceQuota",
        "Secret",
        "Service",
        "ServiceAccount",
    }
)
_BETA = f"{GROUP}/v1beta1"
_KNOWN: Mapping[str, frozenset[str]] = {
    "v1": _CORE,
    "apps/v1": frozenset({"ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"}),
    "batch/v1": frozenset({"CronJob", "Job"}),
    "scheduling.k8s.io/v1": frozenset({"PriorityClass"}),
    STORED: _KUEUE,
    _BETA: _KUEUE,
    **{f"{GROUP}/{version}": _KUEUE for version in ALPHAS},
}
"""Kinds by apiVersion, of the groups of which all are known; of any other group nothing is said."""
_GROUPS = frozenset(version.rpartition("/")[0] for version in _KNOWN)
_LABELLED = frozenset({"Namespace", "Service"})
"""Kinds whose names are one label, without dots."""


def identity_problems(value: JsonMapping) -> list[Problem]:
    """An unknown version or kind, a name that the API server does not take."""
    return [*_kind_problems(value), *_name_problems(value)]


def _kind_problems(value: JsonMapping) -> list[Problem]:
    version, kind = str(value.get("apiVersion") or ""), str(value.get("kind") or "")
    group = version.rpartition("/")[0]
    if not version or group not in _GROUPS or kind in _KNOWN.get(version, ()):
        return []
    consequence = "the API server refuses the object"
    if version not in _KNOWN:
        known = [one for one, kinds in _KNOWN.items() if one.rpartition("/")[0] == group and kind in kinds]
        return [
            Problem(
                field="apiVersion",
                code="UnknownVersion",
                what=f"there is no version {version}" if version else "no version is given",
                consequence=consequence,
                instead=f"apiVersion: {_newest(known)}" if known else f"one of {', '.join(sorted(_of_group(group)))}",
            )
        ]
    elsewhere = [one for one, kinds in _KNOWN.items() if kind in kinds]
    near = f"apiVersion: {_newest(elsewhere)}" if elsewhere else f"one of {', '.join(sorted(_KNOWN[version]))}"
    what = f"there is no kind {kind} in {version}" if kind else "no kind is given"
    return [Problem(field="kind", code="UnknownKind", what=what, consequence=consequence, instead=near)]


def _of_group(group: str) -> list[str]:
    return [one for one in _KNOWN if one.rpartition("/")[0] == group]


def _newest(versions: Sequence[str]) -> str:
    return STORED if STORED in versions else versions[0]


def _name_problems(value: JsonMapping) -> list[Problem]:
    meta, kind = object_at(value, "metadata"), str(value.get("kind"))
    found: list[Problem] = []
    for field, labelled in (("name", kind in _LABELLED), ("namespace", True)):
        name = meta.get(field)
        if isinstance(name, str) and name and (reasons := why_no_label(name) if labelled else why_no_subdomain(name)):
            found.append(
                invalid(f"metadata.{field}", name, f"{name!r}: {'; '.join(reasons)}", f"{field}: {_mended(name)}")
            )
    return found


def why_no_label(text: str) -> list[str]:
    """What keeps a text from being one lowercase DNS label."""
    found = [f"longer than {_LABEL_AT_MOST} characters"] if len(text) > _LABEL_AT_MOST else []
    if "." in text or why_no_subdomain(text[:_LABEL_AT_MOST]):
        found.append(
            "a DNS label holds lower case letters, digits and '-', and begins and ends with one of the first two"
        )
    return found


def _mended(name: str) -> str:
    """A name like this one that would do."""
    plain = "".join(one if one.isascii() and (one.isalnum() or one == "-") else "-" for one in name.lower())
    return plain[:_LABEL_AT_MOST].strip("-") or "another name"


def doubled(documents: Sequence[Document]) -> list[tuple[Document, Problem]]:
    """Each object that another one before it has named: an error in one file, where one of both is meant otherwise."""
    first: dict[tuple[str, str, str, str], Document] = {}
    found: list[tuple[Document, Problem]] = []
    for document in documents:
        meta = object_at(document.value, "metadata")
        group = str(document.value.get("apiVersion") or "").rpartition("/")[0]
        if not meta.get("name"):
            continue
        key = (group, str(document.value.get("kind")), str(meta.get("namespace") or ""), str(meta["name"]))
        before = first.setdefault(key, document)
        if before is not document:
            problem = Problem(
                field="metadata.name",
                code="Doubled",
                what=f"the same object is at {before.place}",
                consequence="whichever is applied last wins, and nothing of the other is left",
                instead="one of both, or another name",
                severity=Severity.ERROR if before.file == document.file else Severity.WARNING,
            )
            found.append((document, problem))
    return found
