"""The fields of Kubernetes' messages by their numbers, gathered from the definitions that Kubernetes publishes.

`python -m ops.sandbox.embedded_cluster.api.protobuf_fields FOLDER` writes protobuf_fields.json anew, where FOLDER holds
k8s.io/api and k8s.io/apimachinery. Whether a zero means something is only in the types of Go, so that both are read.
"""

import re
import sys
from functools import cache
from pathlib import Path

import msgspec

from ops.files.reading import bytes_of, text_of

PLACE = Path(__file__).with_suffix(".json")
ROOTS = (
    "api.core.v1.Namespace",
    "api.core.v1.ConfigMap",
    "api.core.v1.Secret",
    "api.core.v1.Service",
    "api.core.v1.ServiceAccount",
    "api.core.v1.ResourceQuota",
    "api.core.v1.Pod",
    "api.core.v1.Event",
    "api.batch.v1.Job",
    "api.batch.v1.CronJob",
    "api.apps.v1.Deployment",
    "api.apps.v1.ReplicaSet",
    "api.apps.v1.StatefulSet",
    "api.policy.v1.PodDisruptionBudget",
    "api.rbac.v1.Role",
    "api.rbac.v1.RoleBinding",
    "api.rbac.v1.ClusterRole",
    "api.rbac.v1.ClusterRoleBinding",
    "api.scheduling.v1.PriorityClass",
    "api.autoscaling.v1.Scale",
    "api.authorization.v1.SelfSubjectAccessReview",
    "api.authorization.v1.SelfSubjectRulesReview",
    "api.authentication.v1.SelfSubjectReview",
    "api.authentication.v1.TokenRequest",
    "apimachinery.pkg.apis.meta.v1.DeleteOptions",
)
"""What kubectl sends of its own accord."""
_INLINE = frozenset({"volumeSource", "localObjectReference", "handler", "ephemeralContainerCommon"})
_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (optional|repeated|map<string, ?([\w.]+)>) (?:([\w.]+) )?(\w+) = (\d+);", re.MULTILINE)
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_TAG = re.compile(r"^\t\w+\s+([\w.*\[\]]+)\s+`[^`]*json:\"(\w+),omit(?:empty|zero)", re.MULTILINE)
_SCALARS = frozenset({"string", "bytes", "bool", "int32", "int64", "double"})


class WireField(msgspec.Struct, frozen=True, array_like=True):
    """A field of a message: its name in JSON, what is in it, and how often."""

    name: str
    type: str
    many: str = ""
    """`list` or `map`; empty for one."""
    inline: bool = False
    """Whether its fields are fields of what it is in."""
    zero_is_nothing: bool = False


Messages = dict[str, dict[int, WireField]]


@cache
def messages() -> Messages:
    """All messages that are known, by name."""
    return msgspec.json.decode(bytes_of(PLACE), type=Messages, strict=False)


def gathered(folder: Path) -> Messages:
    """The messages of the definitions in a folder, as far as the roots need them."""
    found: Messages = {}
    for path in sorted(folder.rglob("generated.proto")):
        package = re.search(r"^package k8s\.io\.([\w.]+);", text_of(path), re.MULTILINE)
        if package is not None:
            optional = _omitted(path.with_name("types.go"))
            for name, body in _MESSAGE.findall(text_of(path)):
                found[f"{package.group(1)}.{name}"] = _fields(package.group(1), body, optional.get(name, frozenset()))
    needed: Messages = {}
    left = list(ROOTS)
    while left:
        name = left.pop()
        if name not in needed:
            needed[name] = found[name]
            left += [one.type for one in found[name].values() if one.type not in _SCALARS]
    return {name: needed[name] for name in sorted(needed)}


def _fields(package: str, body: str, omitted: frozenset[str]) -> dict[int, WireField]:
    found: dict[int, WireField] = {}
    for label, value, plain, name, number in _FIELD.findall(body):
        told = (value or plain).removeprefix(".").removeprefix("k8s.io.")
        kind = told if told in _SCALARS or "." in told else f"{package}.{told}"
        many = "list" if label == "repeated" else "map" if value else ""
        found[int(number)] = WireField(name, kind, many, name in _INLINE, name in omitted)
    return found


def _omitted(path: Path) -> dict[str, frozenset[str]]:
    """By type, the fields that JSON leaves out when they are zero: those that are no pointers."""
    if not path.exists():
        return {}
    return {
        name: frozenset(field for kind, field in _TAG.findall(body) if not kind.startswith("*"))
        for name, body in _STRUCT.findall(text_of(path))
    }


if __name__ == "__main__":
    PLACE.write_bytes(msgspec.json.format(msgspec.json.encode(gathered(Path(sys.argv[1]))), indent=0) + b"\n")
