"""The parts of a listing: what is read of objects, and how rows are shown."""

import time
from collections.abc import Sequence
from typing import Annotated

import typer

from events.event import Millis
from events.json_object import JsonObject
from ops.cli.kubectl.cluster_names import cluster_queues, local_queues
from ops.cli.kubectl.connection import ObjectsOutput, show_list, show_table
from ops.cli.kubectl.nouns import Noun

Labels = Annotated[str, typer.Option("-l", "--selector", help="A selector of labels, e.g. team=a.")]
Fields = Annotated[str, typer.Option("--field-selector", help="A selector of fields, e.g. metadata.name=a.")]
ClusterQueueFilter = Annotated[
    str, typer.Option("-c", "--clusterqueue", help="Only of this cluster queue.", autocompletion=cluster_queues)
]
LocalQueueFilter = Annotated[
    str, typer.Option("-q", "--localqueue", help="Only of this local queue.", autocompletion=local_queues)
]


def for_programs(noun: Noun, found: Sequence[JsonObject], output: ObjectsOutput) -> bool:
    """Print objects for a program, unless a table was asked for; whether they were printed."""
    if output in (ObjectsOutput.TABLE, ObjectsOutput.WIDE):
        return False
    show_list(noun, found, output)
    return True


def show_spaced(
    headers: Sequence[str], rows: Sequence[tuple[str, ...]], found: Sequence[JsonObject], namespace: str
) -> None:
    """Print rows, with their namespaces where all are meant."""
    if namespace:
        show_table(headers, rows, empty=f"No resources found in {namespace} namespace.")
        return
    spaced = [(one["metadata"]["namespace"], *row) for one, row in zip(found, rows, strict=True)]
    show_table(("Namespace", *headers), spaced, empty="No resources found")


def condition(value: JsonObject, kind: str) -> JsonObject:
    """A condition of an object; empty when it has none of that type."""
    found: list[JsonObject] = (value.get("status") or {}).get("conditions") or []
    return next((one for one in found if one.get("type") == kind), {})


def is_true(value: JsonObject, kind: str) -> bool:
    """Whether a condition is there and True."""
    return condition(value, kind).get("status") == "True"


def spec_field(value: JsonObject, field: str) -> str:
    """A field of the specification as text; empty when it is not set."""
    return str((value.get("spec") or {}).get(field) or "")


def key_of(value: JsonObject, name: str) -> str:
    """A name in the namespace of an object, as `namespace/name`."""
    return f"{value['metadata'].get('namespace', '')}/{name}"


def now_ms() -> Millis:
    """The time of this machine."""
    return time.time_ns() // 1_000_000
