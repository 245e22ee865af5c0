"""Who may do what in the embedded cluster: whoever reaches it, everything; it asks nobody who they are."""

from collections.abc import Sequence

from ops.sandbox.embedded_cluster.store import Object

_ACCESS, _IDENTITY = "authorization.k8s.io", "authentication.k8s.io"
_ALLOWED: Object = {"allowed": True, "reason": "the embedded cluster lets everybody do everything"}
_RULES: Object = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}
_STATUS: dict[tuple[str, str], Object] = {
    (_ACCESS, "selfsubjectaccessreviews"): _ALLOWED,
    (_ACCESS, "selfsubjectrulesreviews"): _RULES,
    (_IDENTITY, "selfsubjectreviews"): {"userInfo": {"username": "kuelog", "groups": ["system:masters"]}},
}


def review_status(parts: Sequence[str]) -> Object | None:
    """What a review of that path is answered with; None where the path is none of a review about oneself."""
    match parts:
        case ["apis", group, "v1", plural]:
            return _STATUS.get((group, plural))
        case _:
            return None
