"""`kuelog describe`: one object with all its fields in words, and what has happened to it lately, as kubectl describes."""

import re
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from events.json_object import JsonObject
from ops.cli.kubectl.age import since
from ops.cli.kubectl.cluster_names import named
from ops.cli.kubectl.cluster_options import HERE, in_namespace
from ops.cli.kubectl.connection import refuse, with_cluster
from ops.cli.kubectl.nouns import NOUNS, Noun, named_by
from ops.cli.kubectl.where import Where
from ops.production.kubernetes.client import KubeClient
from services.runtime.cluster_port import AccessRefused, ObjectInvalid, ObjectMissing

_SHOWN_AT_TOP = frozenset({"managedFields", "name", "namespace", "labels", "annotations"})
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")

app = typer.Typer(help="Show all of a queue, workload or flavor, as kubectl describe does.", no_args_is_help=True)


def describe(noun: Noun) -> Callable[..., None]:
    """The command that describes objects of a kind."""

    @in_namespace
    def command(
        names: Annotated[list[str], typer.Argument(help="Their names.", autocompletion=named)],
        where: Where = HERE,
    ) -> None:
        space = where.space() if noun.resource.namespaced else ""

        async def ask(client: KubeClient) -> list[tuple[JsonObject, list[JsonObject]]]:
            found = [await client.get(noun.resource, space, name) for name in names]
            return [(one, await _events(client, one, space or "default")) for one in found]

        if not names:
            raise refuse(f"name what to describe: kuelog describe {noun.name} NAME")
        for number, (value, events) in enumerate(with_cluster(where, ask)):
            if number:
                typer.echo()
            for line in object_lines(noun, value):
                typer.echo(line)
            for line in _event_lines(events):
                typer.echo(line)

    command.__doc__ = f"All of a {noun.name}.\n\nExample: kuelog describe {noun.name} team-a"
    return command


def object_lines(noun: Noun, value: JsonObject) -> Iterator[str]:
    """The lines that describe an object, without its events."""
    meta = value["metadata"]
    head: dict[str, Any] = {
        "Name": meta["name"],
        **({"Namespace": meta["namespace"]} if meta.get("namespace") else {}),
        "Labels": meta.get("labels"),
        "Annotations": meta.get("annotations"),
        "API Version": value.get("apiVersion", ""),
        "Kind": value.get("kind", noun.resource.kind),
    }
    for name, found in head.items():
        texts = [f"{key}={one}" for key, one in sorted(found.items())] if isinstance(found, dict) else [_scalar(found)]
        for number, text in enumerate(texts or ["<none>"]):
            yield f"{name + ':' if not number else '':<14}{text}"
    yield "Metadata:"
    yield from _fields({name: one for name, one in meta.items() if name not in _SHOWN_AT_TOP}, 2)
    for name, part in value.items():
        if name not in ("apiVersion", "kind", "metadata"):
            yield f"{_words(name)}:"
            yield from _fields(part, 2)


def _fields(value: Any, indent: int) -> Iterator[str]:
    space = " " * indent
    if isinstance(value, dict):
        width = max(
            (len(_words(name)) + 2 for name, one in value.items() if not isinstance(one, dict | list)), default=0
        )
        for name, one in value.items():
            label = f"{_words(name)}:"
            if isinstance(one, dict | list):
                yield space + label
                yield from _fields(one, indent + 2)
            else:
                yield f"{space}{label:<{width}}{_scalar(one)}"
    elif isinstance(value, list):
        for number, one in enumerate(value):
            if number and isinstance(one, dict):
                yield f"{space}--"
            yield from _fields(one, indent)
    else:
        yield f"{space}{_scalar(value)}"


def _scalar(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else "<none>" if value is None else str(value)


def _words(name: str) -> str:
    """A field's name in words; a name that is no field, such as a label's or a resource's, as it is."""
    if not re.fullmatch(r"[a-z][A-Za-z0-9]*", name):
        return name
    return " ".join(word[:1].upper() + word[1:] for word in _WORD.findall(name))


async def _events(client: KubeClient, value: JsonObject, namespace: str) -> list[JsonObject]:
    query = urlencode({"fieldSelector": f"involvedObject.uid={value['metadata'].get('uid', '')}"})
    try:
        answer = await client.request("GET", f"/api/v1/namespaces/{namespace}/events?{query}")
    except (ObjectMissing, ObjectInvalid, AccessRefused):
        return []  # Who may read the object may not always read events.
    return sorted(answer.get("items") or [], key=lambda one: str(one.get("lastTimestamp") or ""))


def _event_lines(events: list[JsonObject]) -> Iterator[str]:
    if not events:
        yield "Events:       <none>"
        return
    now = time.time_ns() // 1_000_000
    yield "Events:"
    rows = [("Type", "Reason", "Age", "From", "Message")]
    for one in events:
        source = (one.get("source") or {}).get("component") or one.get("reportingComponent") or ""
        age = since(one.get("lastTimestamp") or one.get("eventTime"), now)
        rows.append((one.get("type", ""), one.get("reason", ""), age, source, str(one.get("message", "")).strip()))
    widths = [max(len(row[index]) for row in rows) for index in range(4)]
    for row in rows:
        yield "  " + "  ".join((*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[4]))


for _noun in NOUNS:
    _command = describe(_noun)
    named_by(app, _noun, _command)
