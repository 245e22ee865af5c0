"""The webhook configurations: which objects the API server asks us about, and where."""

from collections.abc import Iterable, Mapping

import msgspec

from events.api.labels import MANAGED, POD_SUSPENDING_PARENT, QUEUE_NAME
from events.job_kind import JobKind
from events.json_object import JsonObject
from events.selector import LabelSelector, Operator
from events.settings import SettingsObserved
from ops.production.crds.definitions import DEFINITIONS, GROUP
from ops.production.webhook.verdicts import HELD_KINDS
from projections.world import DEFAULT_SETTINGS
from services.jobs.default_queue import SYSTEM_CLASSES, pods_take_default, serving_that_takes_default
from services.jobs.kinds.managed_kinds import Kinds, kinds_of
from services.jobs.kinds.table import POD
from services.jobs.managed_namespaces import NAMESPACE_NAME

MUTATING, VALIDATING = "kuelog-mutating-webhook-configuration", "kuelog-validating-webhook-configuration"
MUTATE, VALIDATE, CONVERT = "/mutate", "/validate", "/convert"
_VERSIONS = ("v1beta1", "v1beta2")
_TIMEOUT_S = 10
_META = "object.metadata"
_UNNAMED = f"!(has({_META}.labels) && '{QUEUE_NAME}' in {_META}.labels)"
_BEARS_MAKER = f"has({_META}.annotations) && '{POD_SUSPENDING_PARENT}' in {_META}.annotations"
_MADE = f"{_BEARS_MAKER} && {_UNNAMED}"


def _some_differ(part: str) -> str:
    """The expression that of the labels or annotations that are Kueue's one came, went or says something else."""
    new, old = (f"(has({one}.metadata.{part}) ? {one}.metadata.{part} : {{}})" for one in ("object", "oldObject"))
    kueues = "k.startsWith('kueue.x-k8s.io/')"
    return (
        f"{new}.exists(k, {kueues} && !(k in {old} && {old}[k] == {new}[k]))"
        f" || {old}.exists(k, {kueues} && !(k in {new}))"
    )


_SAYS_SOMETHING_ELSE = " || ".join(_some_differ(part) for part in ("labels", "annotations"))


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """Kinds that are asked about together."""

    name: str
    kinds: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
    """Group, versions and resources."""
    label: str = ""
    """Only objects that bear it, or did before a change: nothing else of this kind waits for us."""
    conditions: Mapping[str, str] = {}
    """Only requests for which these expressions in CEL are true, each under what it says."""


KUEUES = Watched(
    name="kueue",
    kinds=(
        (
            GROUP,
            _VERSIONS,
            tuple(one.plural for one in DEFINITIONS if one.kind not in ("Topology", "WorkloadPriorityClass")),
        ),
    ),
)


HELD = Watched(
    name="held", kinds=((GROUP, _VERSIONS, tuple(one.plural for one in DEFINITIONS if one.kind in HELD_KINDS)),)
)
"""What is asked about when it is made, and then held (docs/rules/queues.md#in-use)."""


def statuses(namespace: str) -> Watched:
    """What others than kuelog, which runs in `namespace`, write of a Workload's state (docs/rules/objects.md#written-status)."""
    kinds = ((GROUP, _VERSIONS, ("workloads/status",)),)
    return Watched(name="status", kinds=kinds, conditions=_by_others(namespace))


def _by_others(namespace: str) -> dict[str, str]:
    own = f"request.userInfo.username.startsWith('system:serviceaccount:{namespace}:kuelog-')"
    return {"not-written-by-kuelog": f"!{own}"}


def _rules(kinds: Iterable[JobKind]) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    found: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}
    for kind in kinds:
        found.setdefault((kind.group, kind.versions), {})[kind.plural] = None
    return tuple((group, versions, tuple(found[group, versions])) for group, versions in sorted(found))


def jobs(kinds: Kinds) -> Watched:
    """Every job: one that names no queue may be meant for the default one of its namespace."""
    return Watched(name="job", kinds=_rules(one for one in kinds.by_place.values() if one.plural != POD.plural))


def pods(kinds: Kinds) -> Watched:
    """No pod waits for us that names no queue, so that a cluster can start what brings us back; unless all are managed."""
    managed = POD.place in kinds.by_place or kinds.serving
    return Watched(name="pod", kinds=_rules([POD]) if managed else (), label=_queued(kinds))


def made_pods(kinds: Kinds) -> Watched:
    """Pods that name no queue, of something that serves and does: they get its name when they are let through.

    No other pod waits for us because of it. Rule: docs/jobs.md#what-serves
    """
    made = _rules([POD]) if kinds.serving and not kinds.takes_all else ()
    return Watched(name="madepod", kinds=made, conditions={"waits-for-its-queue": _MADE})


def changed_pods(kinds: Kinds, namespace: str) -> Watched:
    """Pods that are managed, when others than kuelog change what Kueue's labels and annotations say of them.

    Schedulers, card plugins and controllers write on pods as they run, and never wait for us.
    """
    managed = POD.place in kinds.by_place or kinds.serving
    conditions = {**_by_others(namespace), "says-something-else": _SAYS_SOMETHING_ELSE}
    return Watched(name="changedpod", kinds=_rules([POD]) if managed else (), label=MANAGED, conditions=conditions)


def _queued(kinds: Kinds) -> str:
    """Which label those bear of a kind that are asked about."""
    return "" if kinds.takes_all else QUEUE_NAME


def default_pods(settings: SettingsObserved) -> Watched:
    """Pods that may be meant for the default queue of their namespace, but for those without which no cluster runs."""
    asked = pods_take_default(settings) and not settings.without_queue and POD.place in kinds_of(settings).by_place
    system = f"has(object.spec.priorityClassName) && object.spec.priorityClassName.startsWith('{SYSTEM_CLASSES}')"
    conditions = {
        "names-no-queue": _UNNAMED,
        "made-by-nothing-that-serves": f"!({_BEARS_MAKER})",
        "not-of-the-system": f"!({system})",
    }
    return Watched(name="defaultpod", kinds=_rules([POD]) if asked else (), conditions=conditions)


def default_serving(settings: SettingsObserved) -> Watched:
    """What serves and may be meant for the default queue of its namespace."""
    asked = () if settings.without_queue else serving_that_takes_default(settings)
    return Watched(name="defaultserving", kinds=_rules(asked), conditions={"names-no-queue": _UNNAMED})


def serving(kinds: Kinds) -> Watched:
    """What hands its queue to the pods that it makes."""
    return Watched(name="serving", kinds=_rules(kinds.serving), label=_queued(kinds))


def where(service: str, namespace: str, path: str, authorities: str = "") -> JsonObject:
    """How the API server reaches us; `authorities` is base64."""
    found: JsonObject = {"service": {"name": service, "namespace": namespace, "path": path, "port": 443}}
    return {**found, "caBundle": authorities} if authorities else found


def configurations(
    service: str,
    namespace: str,
    spared: list[str],
    annotations: dict[str, str] | None = None,
    settings: SettingsObserved = DEFAULT_SETTINGS,
) -> list[JsonObject]:
    """Both configurations. The `spared` namespaces never wait for us: what brings us back runs in them."""
    kinds = kinds_of(settings)
    where_jobs_are = _namespaces(spared, settings.managed_namespaces)

    def of_jobs(letter: str, watched: Watched, *operations: str) -> list[JsonObject]:
        path = MUTATE if letter == "m" else VALIDATE
        made = _webhook(letter, watched, service, namespace, where_jobs_are, path, operations)
        return [made] if watched.kinds else []

    mutating = [
        _webhook("m", HELD, service, namespace, None, MUTATE, ("CREATE",)),
        *of_jobs("m", jobs(kinds), "CREATE"),
        *of_jobs("m", pods(kinds), "CREATE"),
        *of_jobs("m", made_pods(kinds), "CREATE"),
        *of_jobs("m", default_pods(settings), "CREATE"),
        *of_jobs("m", serving(kinds), "CREATE", "UPDATE"),
        *of_jobs("m", default_serving(settings), "CREATE", "UPDATE"),
    ]
    validating = [
        _webhook("v", KUEUES, service, namespace, None, VALIDATE, ("CREATE", "UPDATE")),
        _webhook("v", statuses(namespace), service, namespace, None, VALIDATE, ("UPDATE",)),
        *of_jobs("v", jobs(kinds), "CREATE", "UPDATE"),
        *of_jobs("v", pods(kinds), "CREATE"),
        *of_jobs("v", made_pods(kinds), "CREATE"),
        *of_jobs("v", changed_pods(kinds, namespace), "UPDATE"),
        *of_jobs("v", serving(kinds), "CREATE", "UPDATE"),
    ]
    return [
        _configuration("Mutating", MUTATING, mutating, annotations),
        _configuration("Validating", VALIDATING, validating, annotations),
    ]


def conversion(service: str, namespace: str, authorities: str = "") -> JsonObject:
    """The part of a definition that says who converts between its versions."""
    return {
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": where(service, namespace, CONVERT, authorities),
        },
    }


def _configuration(kind: str, name: str, webhooks: list[JsonObject], annotations: dict[str, str] | None) -> JsonObject:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name, **({"annotations": annotations} if annotations else {})},
        "webhooks": webhooks,
    }


def _namespaces(spared: list[str], managed: LabelSelector | None) -> JsonObject:
    """In which namespaces jobs wait for us."""
    found: JsonObject = {"matchExpressions": [{"key": NAMESPACE_NAME, "operator": "NotIn", "values": spared}]}
    for one in () if managed is None else managed.expressions:
        if one.key == NAMESPACE_NAME and one.operator is Operator.NOT_IN and {*one.values} <= {*spared}:
            continue  # They are spared already.
        values = {"values": list(one.values)} if one.values else {}
        found["matchExpressions"].append({"key": one.key, "operator": str(one.operator), **values})
    return {**({"matchLabels": managed.labels} if managed is not None and managed.labels else {}), **found}


def _webhook(
    letter: str,
    watched: Watched,
    service: str,
    namespace: str,
    namespaces: JsonObject | None,
    path: str,
    operations: tuple[str, ...],
) -> JsonObject:
    found: JsonObject = {
        "name": f"{letter}{watched.name}.kuelog.io",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "reinvocationPolicy": "Never",
        "timeoutSeconds": _TIMEOUT_S,
        "clientConfig": where(service, namespace, path),
        "rules": [
            {
                "apiGroups": [group],
                "apiVersions": list(versions),
                "resources": list(resources),
                "operations": list(operations),
                "scope": "*",
            }
            for group, versions, resources in watched.kinds
        ],
    }
    if letter == "v":
        del found["reinvocationPolicy"]
    if namespaces is not None:
        found["namespaceSelector"] = namespaces
    if watched.label:
        found["objectSelector"] = {"matchExpressions": [{"key": watched.label, "operator": "Exists"}]}
    if watched.conditions:
        found["matchConditions"] = [{"name": name, "expression": one} for name, one in watched.conditions.items()]
    return found
