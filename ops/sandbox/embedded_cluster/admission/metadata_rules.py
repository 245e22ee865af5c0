"""What the API server refuses in the metadata of any object: names, labels, annotations, finalizers that come too late."""

import re
from typing import Any

from ops.sandbox.embedded_cluster.failures import invalid
from ops.sandbox.embedded_cluster.kinds import ApiKind

Object = dict[str, Any]
_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_PART = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DOMAIN = re.compile(rf"{_PART}(\.{_PART})*")
_QUALIFIED = re.compile(rf"({_PART}(\.{_PART})*/)?{_WORD}")
_VALUE = re.compile(rf"({_WORD})?")
_LONGEST_NAME, _LONGEST_WORD = 253, 63
_FREE = frozenset({"rbac.authorization.k8s.io"})
"""Groups whose names need only fit into a path."""


def refuse_metadata(kind: ApiKind, meta: Object, before: Object | None = None) -> None:
    """Raise 422 for what nobody may write."""
    problems: list[tuple[str, str]] = []
    name = str(meta.get("name", ""))
    if kind.group not in _FREE and (len(name) > _LONGEST_NAME or not _DOMAIN.fullmatch(name)):
        problems.append(("metadata.name", f"Invalid value: {name!r}: a lowercase RFC 1123 subdomain is expected"))
    problems.extend(label_problems(meta.get("labels") or {}, "metadata.labels"))
    for key in meta.get("annotations") or ():
        problems.extend(_key_problems(key.lower(), "metadata.annotations"))
    if before is not None and before.get("deletionTimestamp"):
        late = sorted(set(meta.get("finalizers") or ()) - set(before.get("finalizers") or ()))
        if late:
            told = (
                f"Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers {late}"
            )
            problems.append(("metadata.finalizers", told))
    if problems:
        raise invalid(kind.kind, name, problems)


def label_problems(labels: Object, field: str) -> list[tuple[str, str]]:
    """What is wrong with labels."""
    found: list[tuple[str, str]] = []
    for key, value in labels.items():
        found.extend(_key_problems(key, field))
        if not isinstance(value, str) or len(value) > _LONGEST_WORD or not _VALUE.fullmatch(value):
            told = f"Invalid value: {value!r}: a valid label must be an empty string or consist of at most 63 alphanumeric "
            found.append(
                (field, told + "characters, '-', '_' or '.', and must start and end with an alphanumeric character")
            )
    return found


def _key_problems(key: str, field: str) -> list[tuple[str, str]]:
    if _QUALIFIED.fullmatch(key) and len(key.rpartition("/")[2]) <= _LONGEST_WORD:
        return []
    return [(field, f"Invalid value: {key!r}: a qualified name is expected: a prefix and a slash, or not, and a name")]
