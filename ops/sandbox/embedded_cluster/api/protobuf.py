"""Objects as Kubernetes' own clients write them, in protobuf, read as the objects that JSON would have brought."""

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import msgspec

from events.timestamp import format_timestamp
from ops.sandbox.embedded_cluster.api.protobuf_fields import WireField, messages
from ops.sandbox.embedded_cluster.failures import bad_request
from ops.sandbox.embedded_cluster.store import Object

FORM = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_META = "apimachinery.pkg.apis.meta.v1."
_CORE_GROUPS = {"rbac.authorization.k8s.io": "rbac", "scheduling.k8s.io": "scheduling", "": "core"}
_DEEPEST, _LONGEST_VARINT = 64, 10


def object_of(raw: bytes) -> Object:
    """The object of a body. Raises 400 for what is no object of a kind that is known here."""
    if not raw.startswith(_MAGIC):
        raise bad_request("the body of the request is not protobuf as Kubernetes writes it")
    try:
        envelope = {number: value for number, _, value in _parts(raw[len(_MAGIC) :])}
        about = {number: _text(value) for number, _, value in _parts(_of_bytes(envelope.get(1, b"")))}
        version, kind = about.get(1, ""), about.get(2, "")
        name = _message_of(version, kind)
        if name not in messages():
            raise bad_request(f"the embedded cluster does not read {kind} of {version} as protobuf: send it as JSON")
        value = _message(_of_bytes(envelope.get(2, b"")), name, 0)
    except (IndexError, ValueError) as problem:
        raise bad_request(f"the body of the request is broken protobuf: {problem}") from problem
    return {"apiVersion": version, "kind": kind, **value}


def _message_of(version: str, kind: str) -> str:
    group, _, number = version.rpartition("/")
    if kind == "DeleteOptions":
        return f"{_META}{kind}"
    return f"api.{_CORE_GROUPS.get(group, group.partition('.')[0])}.{number}.{kind}"


def _message(raw: bytes, name: str, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError("nested too deep")
    if name in _SPECIAL:
        return _SPECIAL[name](raw)
    fields, found = messages()[name], dict[str, Any]()
    for number, _, part in _parts(raw):
        field = fields.get(number)
        if field is not None:
            _add(found, field, part, depth)
    return found


def _add(found: Object, field: WireField, part: int | bytes, depth: int) -> None:
    if field.many == "map":
        entry = {number: value for number, _, value in _parts(_of_bytes(part))}
        held: Object = found.setdefault(field.name, {})
        held[_text(entry.get(1, b""))] = _value(field.type, entry.get(2, b""), depth)
        return
    value = _value(field.type, part, depth)
    if field.many == "list":
        found.setdefault(field.name, []).append(value)
    elif field.inline:
        found.update(value)
    elif value is not None and value != "" and not (field.zero_is_nothing and not value):
        found[field.name] = value


def _value(kind: str, part: int | bytes, depth: int) -> Any:
    match kind:
        case "string":
            return _text(part)
        case "bytes":
            return b64encode(_of_bytes(part)).decode()
        case "bool":
            return bool(part)
        case "int32" | "int64":
            return _signed(part)
        case _:
            return _message(_of_bytes(part), kind, depth + 1)


def _parts(raw: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Number, wire type and value of each field."""
    at = 0
    while at < len(raw):
        key, at = _varint(raw, at)
        wire = key & 7
        value: int | bytes
        if wire == _VARINT:
            value, at = _varint(raw, at)
        elif wire in (_BYTES, _FIXED64, _FIXED32):
            size, at = _varint(raw, at) if wire == _BYTES else (8 if wire == _FIXED64 else 4, at)
            value, at = raw[at : at + size], at + size
            if at > len(raw):
                raise ValueError("it ends within a field")
        else:
            raise ValueError(f"wire type {wire}")
        yield key >> 3, wire, value


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_LONGEST_VARINT):
        byte = raw[at + place]
        value |= (byte & 127) << (7 * place)
        if byte < 128:  # noqa: PLR2004 - the highest bit says that more follows
            return value, at + place + 1
    raise ValueError("a number without an end")


def _signed(part: int | bytes) -> int:
    if isinstance(part, bytes):
        raise ValueError("bytes for a number")  # noqa: TRY004 - of the body, not of the code
    return part - (1 << 64) if part >= 1 << 63 else part


def _of_bytes(part: int | bytes) -> bytes:
    if isinstance(part, int):
        raise ValueError("a number for bytes")  # noqa: TRY004 - of the body, not of the code
    return part


def _text(part: int | bytes) -> str:
    return _of_bytes(part).decode()


def _numbers(raw: bytes) -> dict[int, int | bytes]:
    return {number: value for number, _, value in _parts(raw)}


def _time(raw: bytes) -> str | None:
    found = _numbers(raw)
    if not found:
        return None
    return format_timestamp(_signed(found.get(1, 0)) * 1000)


def _quantity(raw: bytes) -> str:
    return _text(_numbers(raw).get(1, b""))


def _json(raw: bytes) -> Any:
    return msgspec.json.decode(_of_bytes(_numbers(raw).get(1, b"{}")))


def _int_or_string(raw: bytes) -> int | str:
    found = _numbers(raw)
    return _text(found.get(3, b"")) if found.get(1) else _signed(found.get(2, 0))


_SPECIAL = {
    f"{_META}Time": _time,
    f"{_META}MicroTime": _time,
    f"{_META}FieldsV1": _json,
    "apimachinery.pkg.api.resource.Quantity": _quantity,
    "apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
}
"""Messages that are one value in JSON."""
