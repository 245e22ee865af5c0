"""Reviews as the API server asks for them and as they are answered: AdmissionReview of v1."""

import traceback
from base64 import b64encode
from collections.abc import Sequence
from typing import TypeVar

import msgspec
import structlog

from events.json_object import JsonObject, is_object
from services.validation.problem import Problem, Severity

log = structlog.get_logger()

_UNPROCESSABLE = 422
_MOST_CHARACTERS = 300


class ReviewBroken(Exception):
    """What came is no review of this kind."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"not a review of v1: {problem}")


class ReviewRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the API server is about to store."""

    uid: str
    operation: str
    kind: dict[str, str] = {}
    sub_resource: str = ""
    namespace: str = ""
    name: str = ""
    object: JsonObject | None = None
    old_object: JsonObject | None = None

    @property
    def label(self) -> str:
        """Kind and name, as the API server itself words it."""
        meta: JsonObject = (self.object or {}).get("metadata") or {}
        name = self.name or meta.get("name") or f"{meta.get('generateName', '')}*"
        return f'{self.kind.get("kind", "object")} "{name}"'


class _Review(msgspec.Struct, kw_only=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: ReviewRequest


_review = msgspec.json.Decoder(_Review)
Decoded = TypeVar("Decoded")


def read_review(raw: bytes) -> ReviewRequest:
    """The question in a review. Raises `ReviewBroken`."""
    found = decoded(_review, raw)
    if (found.api_version, found.kind) != ("admission.k8s.io/v1", "AdmissionReview"):
        raise ReviewBroken(f"{found.kind or 'no kind'} of {found.api_version or 'no version'}")
    return found.request


def decoded(decoder: msgspec.json.Decoder[Decoded], raw: bytes) -> Decoded:
    """A review of any kind. Raises `ReviewBroken`."""
    try:
        return decoder.decode(raw)
    except RecursionError as problem:
        raise ReviewBroken("nested too deeply") from problem
    except ValueError as problem:  # of msgspec, and of bytes that are not UTF-8
        raise ReviewBroken(str(problem)) from problem


def changed(request: ReviewRequest, value: JsonObject) -> JsonObject:
    """The answer that the object is to be stored like this."""
    response: JsonObject = {"uid": request.uid, "allowed": True}
    patch = patch_between(request.object or {}, value)
    if patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = b64encode(msgspec.json.encode(patch)).decode()
    return _answer(response)


def judged(request: ReviewRequest, problems: Sequence[Problem]) -> JsonObject:
    """The answer that the object may be stored or not, and why; what only may not be meant so is a warning."""
    errors = [one for one in problems if one.severity is Severity.ERROR]
    response: JsonObject = {"uid": request.uid, "allowed": not errors}
    warnings = [f"{one.field}: {one.message}" for one in problems if one.severity is not Severity.ERROR]
    if warnings:
        response["warnings"] = warnings
    if errors:
        messages = [f"{one.field}: {one.message}" for one in errors]
        text = messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
        response["status"] = {
            "status": "Failure",
            "code": _UNPROCESSABLE,
            "reason": "Invalid",
            "message": f"{request.label} is invalid: {text}",
            "details": {
                "kind": request.kind.get("kind", ""),
                "group": request.kind.get("group", ""),
                "name": request.name,
                "causes": [{"reason": one.code, "field": one.field, "message": one.message} for one in errors],
            },
        }
    return _answer(response)


def refused(request: ReviewRequest, message: str) -> JsonObject:
    """The answer that the object may not be stored, because it could not be read."""
    status = {"status": "Failure", "code": _UNPROCESSABLE, "reason": "Invalid", "message": message}
    return _answer({"uid": request.uid, "allowed": False, "status": status})


def cannot_be_read(what: str, problem: Exception, unanswered: str) -> str:
    """The sentence that this can't be read and why, cut to what a reader takes in; logged, with its place in the code, as unanswered."""
    frames = traceback.extract_tb(problem.__traceback__)
    at = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    words = f"{type(problem).__name__}: {problem}"
    log.warning(unanswered, problem=words[:_MOST_CHARACTERS], at=at)
    return f"{what} can't be read: {words}"[:_MOST_CHARACTERS]


def patch_between(before: JsonObject, after: JsonObject, path: str = "") -> list[JsonObject]:
    """The JSON patch that makes the one of the other; lists are replaced whole."""
    found: list[JsonObject] = []
    for name in before:
        if name not in after:
            found.append({"op": "remove", "path": f"{path}/{_pointer(name)}"})
    for name, value in after.items():
        place = f"{path}/{_pointer(name)}"
        if name not in before:
            found.append({"op": "add", "path": place, "value": value})
        elif is_object(value) and is_object(before[name]):
            found.extend(patch_between(before[name], value, place))
        elif msgspec.json.encode(value) != msgspec.json.encode(before[name]):
            found.append({"op": "replace", "path": place, "value": value})
    return found


def _pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _answer(response: JsonObject) -> JsonObject:
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
