"""What every object has: names, labels, owners, and the selectors that pick objects by label."""

import msgspec

Quantity = str | int | float
"""A Kubernetes quantity as written; read it with `events.quantity`."""


class ApiStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of all API structs: camelCase on the wire, unknown fields let through."""


class OwnerReference(ApiStruct, frozen=True, kw_only=True):
    """Who owns an object."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(ApiStruct, frozen=True, kw_only=True):
    """An object's metadata, as far as anybody here reads it."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None


class MatchExpression(ApiStruct, frozen=True, kw_only=True):
    """One comparison of a label."""

    key: str
    operator: str
    values: tuple[str, ...] | None = None


class Selector(ApiStruct, frozen=True, kw_only=True):
    """A label selector."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[MatchExpression, ...] | None = None


class ApiCondition(ApiStruct, frozen=True, kw_only=True):
    """A condition of a status."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int = 0
