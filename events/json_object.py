"""Objects of Kubernetes as they come from JSON, before anybody has read them."""

from collections.abc import Mapping
from typing import Any, TypeGuard

JsonObject = dict[str, Any]
"""An object that is being made or changed."""
JsonMapping = Mapping[str, Any]
"""An object that is only read."""


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Whether a value from JSON is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether a value from JSON is an array."""
    return isinstance(value, list | tuple)
