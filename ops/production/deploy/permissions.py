"""What each service may do on the API server: the watcher only sees, the applier writes, those who decide have no access.

The rules come from the tables that the code itself works with, so a kind that is added there is allowed here.
"""

from collections.abc import Iterable, Sequence

import msgspec

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.production.crds.definitions import DEFINITIONS, GROUP
from ops.production.deploy.chart_values import ChartValues
from ops.production.listeners.front_proxy import CONFIG_MAP
from ops.production.served import MULTIKUEUE
from ops.production.visibility.api_service import API_SERVICES
from ops.production.visibility.api_service import NAMES as API_NAMES
from ops.production.visibility.server import CONFIG_MAPS
from ops.production.webhook.default_local_queues import LOCAL_QUEUES
from ops.production.webhook.multikueue_queues import CHECKS, CLUSTER_QUEUES
from ops.production.webhook.trust import CONFIGURATIONS, DEFINED, SECRETS
from services.applier.events.event_recorder import EVENTS
from services.applier.writing import WORKLOADS
from services.jobs.kinds.managed_by import managed_by_path
from services.jobs.kinds.managed_kinds import kinds_of, resource_of
from services.jobs.kinds.ray import CLUSTER_AT
from services.jobs.kinds.table import JOB_SET, POD, TRAIN_JOB
from services.jobs.kinds.training_runtime import RUNTIMES
from services.multikueue.cluster_profile import CLUSTER_PROFILES
from services.multikueue.connection import CLUSTERS
from services.provisioning_kinds import REQUESTS, TEMPLATES
from services.runtime.cluster_port import NAMESPACES, Resource
from services.watcher.claims.claim_book import CLAIM_KINDS
from services.watcher.settings.installed_kinds import DEFINITIONS as KIND_DEFINITIONS
from services.watcher.settings.watched_kinds import (
    CLUSTER_KINDS,
    IF_INSTALLED,
    JOB_KINDS,
    WORKLOAD_KIND,
    hami_configs,
)

REVIEWS = Resource(
    group="authorization.k8s.io", plural="subjectaccessreviews", kind="SubjectAccessReview", namespaced=False
)
TOKENS = Resource(group="authentication.k8s.io", plural="tokenreviews", kind="TokenReview", namespaced=False)
SEEING = ("list", "watch")
_API = "rbac.authorization.k8s.io"
_STATUS_TOO = ("", "batch")
QUEUES = ("clusterqueues", "localqueues", "cohorts", "admissionchecks")
"""What has a status that the applier writes, besides workloads."""

HELD = ("clusterqueues", "resourceflavors", "topologies", "admissionchecks")
"""What the applier keeps from being deleted while something needs it."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """Verbs on resources of one group; a subresource stands behind a slash."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def rule(self) -> JsonObject:
        """The grant as a rule of a Role or ClusterRole."""
        named = {"resourceNames": list(self.names)} if self.names else {}
        return {"apiGroups": [self.group], "resources": list(self.resources), **named, "verbs": list(self.verbs)}


def job_resources(settings: SettingsObserved) -> list[Resource]:
    """Every kind of job that is managed; pods too, where something that serves with them is."""
    kinds = kinds_of(settings)
    return [resource_of(kind) for kind in (*kinds.by_place.values(), *((POD,) if kinds.serving else ()))]


def _own_cards(settings: SettingsObserved) -> list[Grant]:
    """To annotate pods of any job with the cards that are their own."""
    grant = Grant(group="", resources=(POD.plural,), verbs=("get", "patch"))
    return [grant] if settings.devices and all(one.plural != POD.plural for one in job_resources(settings)) else []


def parents(settings: SettingsObserved) -> list[Resource]:
    """What serves with pods and says how many there are."""
    return [resource_of(kind) for kind in kinds_of(settings).parents.values()]


def seen(settings: SettingsObserved) -> list[Grant]:
    """The kinds that the watcher lists and watches under these settings; who owns a job may be of a kind that is not managed.

    What claims are counted by is among them whether device classes are mapped or not: a chart does not know its configuration.
    """
    first = (*CLUSTER_KINDS, *CLAIM_KINDS, WORKLOAD_KIND, KIND_DEFINITIONS)
    kinds = [resource_of(one) for one in kinds_of(settings).watched]
    return _by_group([*first, *JOB_KINDS, *IF_INSTALLED, *kinds], SEEING)


def _described_by(settings: SettingsObserved) -> list[Resource]:
    """What says the pods of TrainJobs, beside the jobs that are managed anyway."""
    managed = kinds_of(settings).by_place
    if TRAIN_JOB.place not in managed:
        return []
    return [*([] if JOB_SET.place in managed else [resource_of(JOB_SET)]), *RUNTIMES.values()]


def written(settings: SettingsObserved) -> list[Grant]:
    """What the applier writes, and what it reads of it right before."""
    jobs = job_resources(settings)
    return [
        Grant(group=EVENTS.group, resources=(EVENTS.plural,), verbs=("create", "patch")),
        Grant(group=GROUP, resources=(WORKLOADS.plural,), verbs=("get", "create", "patch", "delete")),
        # What an autoscaler is asked belongs to a Workload, and keeps it from being deleted under it.
        Grant(group=GROUP, resources=(f"{WORKLOADS.plural}/finalizers",), verbs=("update",)),
        Grant(group=GROUP, resources=QUEUES, verbs=("get",)),
        # The finalizer that keeps them while something needs them; of ClusterQueues also quota that follows other clusters.
        Grant(group=GROUP, resources=HELD, verbs=("get", "patch")),
        Grant(
            group=GROUP,
            resources=tuple(f"{one}/status" for one in (WORKLOADS.plural, *QUEUES)),
            verbs=("patch",),
        ),
        *_by_group(jobs, ("get", "patch", "delete")),
        # What pods are, of what serves with them: its Workload may be made before they are.
        *_by_group(parents(settings), ("get",)),
        *_own_cards(settings),
        # A Job that is stopped loses its start time, and a pod gets the reason why it ends: both are parts of the status.
        *_by_group((one for one in jobs if one.group in _STATUS_TOO), ("patch",), part="/status"),
        # What an autoscaler is asked, with the pods that it is asked for: made, and taken away.
        Grant(group=REQUESTS.group, resources=(REQUESTS.plural,), verbs=("get", "create", "delete")),
        Grant(group=TEMPLATES.group, resources=(TEMPLATES.plural,), verbs=("get", "create", "patch", "delete")),
        # What the pods of a TrainJob are: its trainer makes a JobSet, here or elsewhere.
        *_by_group(_described_by(settings), ("get",)),
        # A Workload that belongs to a job keeps it from being deleted under it.
        *_by_group([*jobs, *parents(settings)], ("update",), part="/finalizers"),
    ]


def asked(settings: SettingsObserved) -> list[Grant]:
    """What the webhook needs on the whole cluster: local queues, those that lead to other clusters, labels of namespaces, who owns what is new, and to publish its authority."""
    owners = dict.fromkeys(resource_of(one) for one in kinds_of(settings).known.values())
    queues = (LOCAL_QUEUES.plural, CLUSTER_QUEUES.plural, CHECKS.plural)
    configurations = [
        Grant(group=resource.group, resources=(resource.plural,), verbs=("get", "patch"), names=(name,))
        for resource, name in CONFIGURATIONS
    ]
    definitions = tuple(f"{plural}.{GROUP}" for plural in kueue_plurals())
    return [
        Grant(group=LOCAL_QUEUES.group, resources=queues, verbs=SEEING),
        Grant(group=LOCAL_QUEUES.group, resources=(LOCAL_QUEUES.plural,), verbs=("get",)),
        Grant(group=NAMESPACES.group, resources=(NAMESPACES.plural,), verbs=("get", *SEEING)),
        # Whether a managed job owns what is about to be stored.
        *_by_group(owners, ("get",)),
        *configurations,
        Grant(group=DEFINED.group, resources=(DEFINED.plural,), verbs=("get", "patch"), names=definitions),
    ]


def reviewing(settings: SettingsObserved) -> list[Grant]:
    """What the visibility API needs on the whole cluster: to ask who may read, and to publish its authority."""
    del settings
    return [
        Grant(group=REVIEWS.group, resources=(REVIEWS.plural,), verbs=("create",)),
        Grant(group=API_SERVICES.group, resources=(API_SERVICES.plural,), verbs=("get", "patch"), names=API_NAMES),
    ]


def reviewing_people(settings: SettingsObserved) -> list[Grant]:
    """What the console needs on the whole cluster: to ask whose a token is, and what its owner may read. It reads nothing there."""
    del settings
    return [Grant(group=one.group, resources=(one.plural,), verbs=("create",)) for one in (REVIEWS, TOKENS)]


def kueue_plurals() -> list[str]:
    """The resources of Kueue's group."""
    return [one.plural for one in DEFINITIONS]


def dispatched(settings: SettingsObserved) -> list[Grant]:
    """What the service of other clusters needs here: to read what it copies, and to show how it stands there.

    What it may do there is what the kubeconfigs say (docs/multikueue.md).
    """
    kinds = kinds_of(settings)
    jobs = [
        resource_of(one)
        for one in kinds.by_place.values()
        if managed_by_path(settings, one.group, one.kind) or one is POD
    ]
    serving = [resource_of(one) for one in kinds.parents.values()]
    return [
        Grant(group=GROUP, resources=(CLUSTERS.plural, WORKLOADS.plural), verbs=("get",)),
        Grant(group=GROUP, resources=(f"{CLUSTERS.plural}/status",), verbs=("patch",)),
        *_by_group([*jobs, *serving], ("get",)),
        *_by_group(jobs, ("patch",), part="/status"),
        # What Ray's autoscaler changes there is what the job here wants (docs/rules/multikueue.md#slices-of-ray).
        *_by_group([resource_of(one) for one in kinds.by_place.values() if one.reader in CLUSTER_AT], ("patch",)),
    ]


VISIBILITY, CONSOLE = "visibility", "console"
ON_CLUSTER = {
    "watcher": seen,
    "applier": written,
    "webhook": asked,
    MULTIKUEUE: dispatched,
    VISIBILITY: reviewing,
    CONSOLE: reviewing_people,
}


def _hami_configs(values: ChartValues) -> list[JsonObject]:
    """The watcher reads HAMi's ConfigMaps by their names, and no other."""
    maps = hami_configs(values.settings)
    if not maps:
        return []
    named = Grant(group="", resources=(maps[0].plural,), verbs=SEEING, names=tuple(one.name for one in maps))
    return _bound(values, "watcher", [named], within=maps[0].namespace)


def service_account(values: ChartValues, service: str, name: str = "") -> JsonObject:
    """The account of a service, or of what it is called in one partition; only those that speak with the API server are given a token."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": f"kuelog-{name or service}", "namespace": values.namespace},
        "automountServiceAccountToken": service in ON_CLUSTER,
    }


def access(values: ChartValues) -> list[JsonObject]:
    """Roles and bindings of all services but those that are installed by themselves."""
    found: list[JsonObject] = []
    for service, grants in ON_CLUSTER.items():
        if service not in (MULTIKUEUE, VISIBILITY, CONSOLE):
            found.extend(_bound(values, service, grants(values.settings)))
    return [
        *found,
        *_hami_configs(values),
        *_bound(values, "webhook", [_certificate("webhook")], within=values.namespace),
    ]


def applier_access(values: ChartValues, name: str) -> JsonObject:
    """The applier of a further partition may do what that of the first may: no role says which queues a job asks for."""
    role = f"{values.namespace}-applier"
    return _binding("Cluster", f"{values.namespace}-{name}", role, {}, name, values.namespace)


def multikueue_access(values: ChartValues) -> list[JsonObject]:
    """Roles and bindings of the service of other clusters: of Secrets it may read those that are named, and no other; of ClusterProfiles those beside it."""
    named = {
        "apiGroups": [SECRETS.group],
        "resources": [SECRETS.plural],
        "resourceNames": values.whole("multiKueue.secrets"),
        "verbs": ["get"],
    }
    found = _bound(values, MULTIKUEUE, [], within=values.namespace)
    profiles = Grant(group=CLUSTER_PROFILES.group, resources=(CLUSTER_PROFILES.plural,), verbs=("get",))
    found[0]["rules"] = [named, profiles.rule()]
    return [*_bound(values, MULTIKUEUE, ON_CLUSTER[MULTIKUEUE](values.settings)), *found]


def visibility_access(values: ChartValues) -> list[JsonObject]:
    """Roles and bindings of the visibility API."""
    space, name = CONFIG_MAP
    known = Grant(group=CONFIG_MAPS.group, resources=(CONFIG_MAPS.plural,), verbs=("get",), names=(name,))
    return [
        *_bound(values, VISIBILITY, ON_CLUSTER[VISIBILITY](values.settings)),
        *_bound(values, VISIBILITY, [_certificate(VISIBILITY)], within=values.namespace),
        *_bound(values, VISIBILITY, [known], within=space),
    ]


def console_access(values: ChartValues) -> list[JsonObject]:
    """Roles and bindings of the console."""
    return [
        *_bound(values, CONSOLE, ON_CLUSTER[CONSOLE](values.settings)),
        *_bound(values, CONSOLE, [_certificate(CONSOLE)], within=values.namespace),
    ]


def _certificate(service: str) -> Grant:
    names = (f"kuelog-{service}-certificate",)
    return Grant(group=SECRETS.group, resources=(SECRETS.plural,), verbs=("get", "patch"), names=names)


def _bound(values: ChartValues, service: str, grants: Sequence[Grant], *, within: str = "") -> list[JsonObject]:
    """A role and its binding to a service's account, in one namespace or on the whole cluster."""
    scope = "" if within else "Cluster"
    # Roles beyond our namespace bear its name: two installations don't share them.
    name = f"kuelog-{service}" if within == values.namespace else f"{values.namespace}-{service}"
    place = {"namespace": within} if within else {}
    role: JsonObject = {
        "apiVersion": f"{_API}/v1",
        "kind": f"{scope}Role",
        "metadata": {"name": name, **place},
        "rules": [one.rule() for one in grants],
    }
    return [role, _binding(scope, name, name, place, service, values.namespace)]


def _binding(scope: str, name: str, role: str, place: JsonObject, account: str, namespace: str) -> JsonObject:
    return {
        "apiVersion": f"{_API}/v1",
        "kind": f"{scope}RoleBinding",
        "metadata": {"name": name, **place},
        "roleRef": {"apiGroup": _API, "kind": f"{scope}Role", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": f"kuelog-{account}", "namespace": namespace}],
    }


def _by_group(resources: Iterable[Resource], verbs: tuple[str, ...], part: str = "") -> list[Grant]:
    groups: dict[str, list[str]] = {}
    for one in resources:
        plurals = groups.setdefault(one.group, [])
        if f"{one.plural}{part}" not in plurals:
            plurals.append(f"{one.plural}{part}")
    return [Grant(group=name, resources=tuple(groups[name]), verbs=verbs) for name in sorted(groups)]
