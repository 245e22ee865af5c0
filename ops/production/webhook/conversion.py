"""ConversionReview of v1: Kueue's objects between v1beta1 and v1beta2, each in the order it came."""

import msgspec

from events.json_object import JsonObject
from ops.production.webhook.review import cannot_be_read, decoded
from services.validation.conversion.convert import GROUP, STORED, to_v1beta2
from services.validation.conversion.to_beta1 import to_beta1

OLDER = f"{GROUP}/v1beta1"


class _Wanted(msgspec.Struct, kw_only=True, rename="camel"):
    uid: str
    desired: str = msgspec.field(name="desiredAPIVersion")
    objects: list[msgspec.Raw] = []


class _Review(msgspec.Struct, kw_only=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: _Wanted


class Inconvertible(Exception):
    """There is no way from the one version to the other."""

    def __init__(self, found: str, wanted: str) -> None:
        super().__init__(f"nothing leads from {found or 'no version'} to {wanted}; there are {STORED} and {OLDER}")


_review = msgspec.json.Decoder(_Review)


def answer_conversion(raw: bytes) -> JsonObject:
    """The review with all its objects in the version that was asked for, or with the reason why not. Raises `ReviewBroken`."""
    wanted = decoded(_review, raw).request
    response: JsonObject = {"uid": wanted.uid, "result": {"status": "Success"}}
    try:
        # One at a time: all of a long list as objects would take many times its size.
        response["convertedObjects"] = [_converted(one, wanted.desired) for one in wanted.objects]
    except Inconvertible as problem:
        response["convertedObjects"] = []
        response["result"] = {"status": "Failure", "message": str(problem)}
    except Exception as problem:  # noqa: BLE001 - anything can be sent, and each question gets an answer
        response["convertedObjects"] = []
        message = cannot_be_read("an object", problem, "not converted")
        response["result"] = {"status": "Failure", "message": message}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response}


def _converted(raw: msgspec.Raw, wanted: str) -> msgspec.Raw:
    value = msgspec.json.decode(raw, type=JsonObject)
    found = converted(value, wanted)
    return raw if found is value else msgspec.Raw(msgspec.json.encode(found))


def converted(value: JsonObject, wanted: str) -> JsonObject:
    """One object in that version; its metadata is the API server's. Raises `Inconvertible`."""
    found = str(value.get("apiVersion", ""))
    match (found, wanted):
        case (same, other) if same == other:
            return value
        case (older, newer) if older == OLDER and newer == STORED:
            return to_v1beta2(value).value
        case (newer, older) if newer == STORED and older == OLDER:
            return {**to_beta1(value), "apiVersion": OLDER}
        case _:
            raise Inconvertible(found, wanted)
