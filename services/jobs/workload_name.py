"""How the Workload of a job is called, as Kueue calls it, so that each finds what the other has made."""

import hashlib

_NAME_LIMIT = 63
"""The most characters of a label's value, which such a name has to be."""
_DIGEST = 5


def workload_name(kind: str, group: str, name: str, uid: str) -> str:
    """The name of the Workload for a job (docs/rules/objects.md#workload-name)."""
    found = hashlib.sha1(f"{kind}\n{group}\n{name}\n{uid}".encode(), usedforsecurity=False).hexdigest()
    return f"{f'{kind.lower()}-{name}'[: _NAME_LIMIT - 1 - _DIGEST]}-{found[:_DIGEST]}"
