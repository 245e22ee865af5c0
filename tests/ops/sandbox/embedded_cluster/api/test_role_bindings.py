"""Who may do what by roles and bindings: as an API server's RBAC authorizer would say."""

from typing import Any

import pytest

from ops.sandbox.embedded_cluster.api.role_bindings import allows
from ops.sandbox.embedded_cluster.store import Store

RBAC = "rbac.authorization.k8s.io"
LIST = {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["list"]}


def store(*values: dict[str, Any]) -> Store:
    found = Store()
    for one in values:
        meta = one["metadata"]
        found.put(f"{one['kind'].lower()}s.{RBAC}", (meta.get("namespace", ""), meta["name"]), one)
    return found


def role(name: str, *rules: dict[str, Any], namespace: str = "", **more: Any) -> dict[str, Any]:
    meta = {"name": name, "labels": {"gather": name}, **({"namespace": namespace} if namespace else {})}
    return {"kind": "Role" if namespace else "ClusterRole", "metadata": meta, "rules": list(rules), **more}


def binding(subject: dict[str, str], name: str, *, namespace: str = "", kind: str = "ClusterRole") -> dict[str, Any]:
    meta = {"name": f"{name}-{subject['name']}", **({"namespace": namespace} if namespace else {})}
    reference = {"kind": kind, "name": name}
    made = "RoleBinding" if namespace else "ClusterRoleBinding"
    return {"kind": made, "metadata": meta, "roleRef": reference, "subjects": [subject]}


def asks(verb: str = "list", resource: str = "workloads", **more: str) -> dict[str, str]:
    return {"verb": verb, "group": "kueue.x-k8s.io", "resource": resource, **more}


ALICE, TEAM = {"kind": "User", "name": "alice"}, {"kind": "Group", "name": "team"}
ROBOT = {"kind": "ServiceAccount", "name": "robot"}


@pytest.mark.parametrize(
    ("bound", "user", "groups", "asked", "allowed"),
    [
        (binding(ALICE, "lister"), "alice", [], asks(), True),
        (binding(ALICE, "lister"), "alice", [], asks(namespace="any"), True),
        (binding(ALICE, "lister"), "bob", [], asks(), False),
        (binding(ALICE, "lister"), "alice", [], asks("get"), False),
        (binding(ALICE, "lister"), "alice", [], asks(resource="clusterqueues"), False),
        (binding(ALICE, "lister"), "alice", [], asks(subresource="status"), False),
        (binding(ALICE, "lister", namespace="a"), "alice", [], asks(namespace="a"), True),
        (binding(ALICE, "lister", namespace="a"), "alice", [], asks(namespace="b"), False),
        (binding(ALICE, "lister", namespace="a"), "alice", [], asks(), False),
        (binding(ALICE, "local", namespace="a", kind="Role"), "alice", [], asks(namespace="a"), True),
        (binding(TEAM, "lister"), "bob", ["team"], asks(), True),
        (binding(TEAM, "lister"), "team", [], asks(), False),
        (binding(ROBOT, "lister", namespace="a"), "system:serviceaccount:a:robot", [], asks(namespace="a"), True),
        (binding(ROBOT, "lister", namespace="a"), "robot", [], asks(namespace="a"), False),
        (binding(ALICE, "gathers"), "alice", [], asks(), True),
        (binding(ALICE, "named"), "alice", [], asks("get", name="one"), True),
        (binding(ALICE, "named"), "alice", [], asks("get", name="two"), False),
        (binding(ALICE, "parts"), "alice", [], asks("get", subresource="status"), True),
        (binding(ALICE, "nothing-of-the-name"), "alice", [], asks(), False),
        (binding(ALICE, "lister"), "nobody", ["system:masters"], asks("delete"), True),
    ],
)
def test_a_right_is_what_a_role_says_that_is_bound_to_somebody(
    bound: dict[str, Any], user: str, groups: list[str], asked: dict[str, str], allowed: bool
) -> None:
    found = store(
        role("lister", LIST),
        role("local", LIST, namespace="a"),
        role("named", {**LIST, "verbs": ["get"], "resourceNames": ["one"]}),
        role("parts", {"apiGroups": ["*"], "resources": ["*/status"], "verbs": ["*"]}),
        role("gathers", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"gather": "lister"}}]}),
        bound,
    )
    assert allows(found, {"user": user, "groups": groups, "resourceAttributes": asked}) is allowed


def test_paths_are_allowed_by_their_beginnings() -> None:
    found = store(role("p", {"nonResourceURLs": ["/healthz", "/apis/*"], "verbs": ["get"]}), binding(ALICE, "p"))
    for path, allowed in (("/healthz", True), ("/apis/x/v1", True), ("/metrics", False)):
        asked = {"user": "alice", "nonResourceAttributes": {"verb": "get", "path": path}}
        assert allows(found, asked) is allowed
