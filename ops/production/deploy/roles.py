"""Roles for people, as Kueue has them: who runs the queues, who submits jobs, and a viewer and an editor for each kind."""

from events.json_object import JsonObject
from ops.production.crds.definitions import DEFINITIONS, GROUP
from ops.production.deploy.chart_values import ChartValues
from ops.production.deploy.permissions import job_resources

ADMIN, USER = "rbac.kueue.x-k8s.io/batch-admin", "rbac.kueue.x-k8s.io/batch-user"
VISIBILITY = "visibility.kueue.x-k8s.io"
_EDITS = ["create", "delete", "get", "list", "patch", "update", "watch"]
_VIEWS = ["get", "list", "watch"]
_FOR_USERS = frozenset({"LocalQueue", "Workload"})
"""What those who submit jobs may look at."""
_ROOMS = ("view", "edit", "admin")
"""Kubernetes' own roles for people of a namespace."""


def roles(values: ChartValues) -> list[JsonObject]:
    """The ClusterRoles for people: an editor and a viewer for each kind, gathered for batch admins and batch users."""
    prefix = values.text("roles.prefix")
    found = [_gathered(prefix, "batch-admin", ADMIN), _gathered(prefix, "batch-user", USER)]
    for one in DEFINITIONS:
        kind, parts = one.kind.lower(), [one.plural]
        shown = [f"{one.plural}/status"] if one.status else []
        found.append(_role(prefix, f"{kind}-editor", [ADMIN], GROUP, parts, _EDITS, shown))
        readers = [USER] if one.kind in _FOR_USERS else []
        found.append(_role(prefix, f"{kind}-viewer", readers, GROUP, parts, _VIEWS, shown))
    for job in (one for one in job_resources(values.settings) if one.group):
        kind = job.kind.partition(".")[0].lower()
        shown = [f"{job.plural}/status"]
        found.append(_role(prefix, f"{kind}-editor", [ADMIN, USER], job.group, [job.plural], _EDITS, shown))
        found.append(_role(prefix, f"{kind}-viewer", [], job.group, [job.plural], _VIEWS, shown))
    return [*found, *_pending(prefix)]


def _pending(prefix: str) -> list[JsonObject]:
    """Who may see who waits: the administrators all of it, the others the queues of their namespace."""
    of_all = _role(
        prefix, "pending-workloads-cq-viewer", [ADMIN], VISIBILITY, ["clusterqueues/pendingworkloads"], _VIEWS, []
    )
    of_some = _role(
        prefix, "pending-workloads-lq-viewer", [ADMIN, USER], VISIBILITY, ["localqueues/pendingworkloads"], _VIEWS, []
    )
    of_some["metadata"]["labels"].update({f"rbac.authorization.k8s.io/aggregate-to-{room}": "true" for room in _ROOMS})
    return [of_all, of_some]


def _gathered(prefix: str, name: str, label: str) -> JsonObject:
    """A role of all roles that bear a label; Kubernetes fills in its rules."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"{prefix}-{name}-role"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]},
    }


def _role(
    prefix: str, name: str, labels: list[str], group: str, resources: list[str], verbs: list[str], shown: list[str]
) -> JsonObject:
    rules: list[JsonObject] = [{"apiGroups": [group], "resources": resources, "verbs": verbs}]
    if shown:
        rules.append({"apiGroups": [group], "resources": shown, "verbs": ["get"]})
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"{prefix}-{name}-role", "labels": dict.fromkeys(labels, "true")},
        "rules": rules,
    }
