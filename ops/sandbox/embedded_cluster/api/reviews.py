"""Who may do what in the embedded cluster: whoever reaches it, everything; others are asked about as roles and tokens say.

The API itself asks nobody who they are. A service that has to know, such as the console, is answered as by any cluster: tokens of
service accounts are given out and known again, and the rights of a user are those that roles are bound to.
"""

import secrets
from collections.abc import Callable, Sequence

from aiohttp import web

from events.event import Millis
from events.timestamp import format_timestamp
from ops.sandbox.embedded_cluster.api.role_bindings import allows
from ops.sandbox.embedded_cluster.failures import bad_request, not_found
from ops.sandbox.embedded_cluster.store import Object, Store

_ACCESS, _IDENTITY = "authorization.k8s.io", "authentication.k8s.io"
_ALLOWED: Object = {"allowed": True, "reason": "the embedded cluster lets everybody do everything"}
_RULES: Object = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}
_ABOUT_ONESELF: dict[tuple[str, str], Object] = {
    (_ACCESS, "selfsubjectaccessreviews"): _ALLOWED,
    (_ACCESS, "selfsubjectrulesreviews"): _RULES,
    (_IDENTITY, "selfsubjectreviews"): {"userInfo": {"username": "kuelog", "groups": ["system:masters"]}},
}
_ACCESS_REVIEW, _TOKEN_REVIEW = (_ACCESS, "subjectaccessreviews"), (_IDENTITY, "tokenreviews")
_ABOUT_OTHERS = frozenset({_ACCESS_REVIEW, _TOKEN_REVIEW})
_AUDIENCE = "https://kubernetes.default.svc"
_LASTS_S = 3600
ACCOUNTS = "serviceaccounts"


class Reviews:
    """Answers reviews, and gives out tokens of service accounts; these are forgotten with the process."""

    def __init__(self, store: Store, now: Callable[[], Millis]) -> None:
        self._store, self._now = store, now
        self._tokens: dict[str, tuple[Millis, str, str, tuple[str, ...]]] = {}

    def knows(self, parts: Sequence[str]) -> bool:
        """Whether a path is one of a review, or of a service account's token."""
        match parts:
            case ["apis", group, "v1", plural]:
                return (group, plural) in _ABOUT_ONESELF or (group, plural) in _ABOUT_OTHERS
            case ["api", "v1", "namespaces", _, plural, _, "token"]:
                return plural == ACCOUNTS
            case _:
                return False

    def status(self, parts: Sequence[str], body: Object, whom: Object) -> Object:
        """What a path that is known is answered with; `whom` is who asks, where somebody else is put on.

        Raises 400, and 404 for a service account that is not there.
        """
        if parts[-1] == "token":
            return self._given(parts[3], parts[5], _spec(body))
        review = (parts[1], parts[3])
        if review == (_ACCESS, "selfsubjectaccessreviews") and whom:
            return {"allowed": allows(self._store, _spec(body) | whom)}
        if review == (_IDENTITY, "selfsubjectreviews") and whom:
            return {"userInfo": {"username": whom["user"], "groups": whom["groups"]}}
        if review in _ABOUT_ONESELF:
            return _ABOUT_ONESELF[review]
        if review == _ACCESS_REVIEW:
            return {"allowed": allows(self._store, _spec(body))}
        return self._whose(_spec(body))

    def _given(self, namespace: str, name: str, spec: Object) -> Object:
        if self._store.get(ACCOUNTS, (namespace, name)) is None:
            raise not_found(ACCOUNTS, name)
        seconds = spec.get("expirationSeconds")
        ends = self._now() + 1000 * (seconds if isinstance(seconds, int) and seconds > 0 else _LASTS_S)
        token = secrets.token_urlsafe(32)
        self._tokens[token] = (ends, namespace, name, tuple(spec.get("audiences") or (_AUDIENCE,)))
        return {"token": token, "expirationTimestamp": format_timestamp(ends)}

    def _whose(self, spec: Object) -> Object:
        ends, namespace, name, audiences = self._tokens.get(str(spec.get("token")), (0, "", "", ()))
        wanted = spec.get("audiences") or [_AUDIENCE]
        meant = [one for one in wanted if one in audiences]
        account = self._store.get(ACCOUNTS, (namespace, name))
        if self._now() >= ends or not meant or account is None:
            return {"authenticated": False, "error": "the embedded cluster has not given out this token"}
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
        user = {"username": f"system:serviceaccount:{namespace}:{name}", "uid": account["metadata"]["uid"]}
        return {"authenticated": True, "user": {**user, "groups": groups}, "audiences": meant}


def as_whom(request: web.Request) -> Object:
    """Whom a request puts on (`kubectl --as`), as a review names users; empty when nobody."""
    user = request.headers.get("Impersonate-User", "")
    groups = [*request.headers.getall("Impersonate-Group", []), "system:authenticated"]
    return {"user": user, "groups": groups} if user else {}


def _spec(body: Object) -> Object:
    found = body.get("spec")
    if not isinstance(found, dict):
        raise bad_request("a review needs a spec")
    return found
