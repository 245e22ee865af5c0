"""What roles and their bindings allow somebody, as the API server's RBAC authorizer reads them."""

from collections.abc import Iterable, Iterator

from ops.sandbox.embedded_cluster.store import Object, Store

_GROUP = "rbac.authorization.k8s.io"
_ROLES, _CLUSTER_ROLES = f"roles.{_GROUP}", f"clusterroles.{_GROUP}"
_BINDINGS, _CLUSTER_BINDINGS = f"rolebindings.{_GROUP}", f"clusterrolebindings.{_GROUP}"
MASTERS = "system:masters"


def allows(store: Store, spec: Object) -> bool:
    """Whether the spec of a SubjectAccessReview is allowed by any role that is bound to the user or to a group of theirs."""
    user, groups = str(spec.get("user") or ""), frozenset(str(one) for one in spec.get("groups") or ())
    if MASTERS in groups:
        return True
    asked, path = spec.get("resourceAttributes") or {}, spec.get("nonResourceAttributes") or {}
    namespace = str(asked.get("namespace") or "")
    rules = _rules(store, user, groups, namespace)
    return any(_allows_resource(rule, asked) if asked else _allows_path(rule, path) for rule in rules)


def _rules(store: Store, user: str, groups: frozenset[str], namespace: str) -> Iterator[Object]:
    for binding in store.of(_CLUSTER_BINDINGS).values():
        if _binds(binding, user, groups, ""):
            yield from _rules_of(store, binding["roleRef"], "")
    for (space, _), binding in store.of(_BINDINGS).items():
        if namespace and space == namespace and _binds(binding, user, groups, space):
            yield from _rules_of(store, binding["roleRef"], space)


def _binds(binding: Object, user: str, groups: frozenset[str], space: str) -> bool:
    for one in binding.get("subjects") or ():
        name = one.get("name", "")
        match one.get("kind"):
            case "User" if name == user:
                return True
            case "Group" if name in groups:
                return True
            case "ServiceAccount" if f"system:serviceaccount:{one.get('namespace') or space}:{name}" == user:
                return True
            case _:
                pass
    return False


def _rules_of(store: Store, reference: Object, space: str) -> Iterator[Object]:
    cluster_wide = reference.get("kind") == "ClusterRole"
    name = ("", reference["name"]) if cluster_wide else (space, reference["name"])
    role = store.get(_CLUSTER_ROLES if cluster_wide else _ROLES, name)
    if role is None:
        return
    yield from role.get("rules") or ()
    for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        for other in store.of(_CLUSTER_ROLES).values():
            if _selects(selector, other["metadata"].get("labels") or {}):
                yield from other.get("rules") or ()


def _selects(selector: Object, labels: Object) -> bool:
    """Whether a selector of labels picks out a role; by anything else none is picked out here."""
    wanted = selector.get("matchLabels") or {}
    return bool(wanted) and not selector.get("matchExpressions") and wanted.items() <= labels.items()


def _allows_resource(rule: Object, asked: Object) -> bool:
    part, resource = str(asked.get("subresource") or ""), str(asked.get("resource") or "")
    named = {f"{resource}/{part}", f"*/{part}"} if part else {resource}
    names = rule.get("resourceNames") or ()
    return (
        _has(rule.get("verbs"), {str(asked.get("verb"))})
        and _has(rule.get("apiGroups"), {str(asked.get("group") or "")})
        and _has(rule.get("resources"), named)
        and (not names or asked.get("name") in names)
    )


def _allows_path(rule: Object, asked: Object) -> bool:
    path = str(asked.get("path") or "")
    paths = [str(one) for one in rule.get("nonResourceURLs") or ()]
    return _has(rule.get("verbs"), {str(asked.get("verb"))}) and any(
        one == path or (one.endswith("*") and path.startswith(one[:-1])) for one in paths
    )


def _has(allowed: Iterable[str] | None, wanted: set[str]) -> bool:
    return bool({"*", *wanted} & set(allowed or ()))
