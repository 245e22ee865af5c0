"""The fields of built-in kinds, as the official client knows them."""

import re
from functools import cache
from typing import Any

import msgspec
from kubernetes.aio.client import models

from ops.sandbox.embedded_cluster.kinds import Kind

_OTHER_NAMES = {"events": "CoreV1Event"}
_PART = re.compile(r"(?:List\[|Dict\[str, )*([^\[\]]+)\]*")


class Field(msgspec.Struct, frozen=True):
    """One field of a type: what is in it, in the client's words, and what it means."""

    type: str
    description: str

    @property
    def inner(self) -> str:
        """The type of the field, or of what is in its list or map."""
        found = _PART.fullmatch(self.type)
        return found.group(1) if found is not None else self.type


def type_of(kind: Kind) -> str:
    """The client's type of a built-in kind; empty where it has none."""
    name = _OTHER_NAMES.get(kind.key, f"V{kind.version.removeprefix('v')}{kind.kind}")
    return name if kind.schema is None and fields_of(name) else ""


@cache
def fields_of(type_name: str) -> dict[str, Field]:
    """The fields of a type by their names in JSON; none of what is no type of Kubernetes."""
    model: Any = getattr(models, type_name, None) if type_name[:1].isupper() else None
    if model is None:
        return {}
    return {
        model.attribute_map[name]: Field(told, model.model_fields[name].description or "")
        for name, told in model.openapi_types.items()
    }
