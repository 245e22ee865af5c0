"""Objects are stored in one version and shown in any: renamed, or converted where somebody converts."""

from collections.abc import Callable

from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.embedded_cluster.store import Object

Converter = Callable[[Object, str], Object]
"""What a converting webhook would do: an object and the apiVersion that is wanted to the object in that version."""


def renamed(value: Object, wanted: str) -> Object:
    """An object under another version, all else as it is: what is done where nobody converts."""
    return {**value, "apiVersion": wanted}


class KindVersions:
    """The versions of all kinds."""

    def __init__(self, convert: Converter = renamed) -> None:
        self._convert = convert

    def shown(self, kind: ApiKind, value: Object) -> Object:
        """An object under the version that was asked for."""
        return value if value.get("apiVersion") == kind.api_version else self._convert(value, kind.api_version)

    def stored(self, kind: ApiKind, value: Object) -> Object:
        """An object in the version that is stored."""
        if not kind.storage or kind.version == kind.storage or self._convert is renamed:
            return value
        told = {**value, "apiVersion": kind.api_version, "kind": kind.kind}
        return self._convert(told, f"{kind.group}/{kind.storage}")
