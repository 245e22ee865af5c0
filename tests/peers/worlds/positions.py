"""Who waits at which position of a world, as the visibility APIs answer."""

from collections.abc import Mapping
from typing import Any

from events.json_object import JsonObject
from tests.peers.worlds.seen import Seen

PART = "?offset=1&limit=2"


def asked_of(found: Seen, space: str) -> list[str]:
    """The paths that are asked for: each queue that is there, whole and a part, and one that is not."""
    queues = [f"clusterqueues/{name}/pendingworkloads" for name in (*found["queues"], f"{space}-none")]
    doors = [f"namespaces/{space}/localqueues/{name}/pendingworkloads" for name in (*found["doors"], "none")]
    return [f"{path}{part}" for path in (*queues, *doors) for part in ("", PART)]


def told_of_positions(answers: Mapping[str, JsonObject], workloads: Mapping[str, JsonObject]) -> dict[str, Any]:
    """By path who waits, under the keys of `workloads`; or what the answer is instead."""
    names = {one["metadata"]["name"]: key for key, one in workloads.items()}
    return {path: _told(answer, names) for path, answer in answers.items()}


def _told(answer: JsonObject, names: Mapping[str, str]) -> Any:
    if answer["kind"] == "Status":
        return {key: answer[key] for key in ("status", "reason", "code", "message")}
    return {_name(one, names): _item(one) for one in answer["items"]}


def _name(item: JsonObject, names: Mapping[str, str]) -> str:
    name = item["metadata"]["name"]
    return names.get(name, name)


def _item(item: JsonObject) -> JsonObject:
    meta = item["metadata"]
    # Kueue names the pods of a group in any order.
    owners = {one["name"]: [one["apiVersion"], one["kind"]] for one in meta.get("ownerReferences") or ()}
    return {
        "namespace": meta["namespace"],
        "owners": owners,
        **{key: value for key, value in item.items() if key != "metadata"},
    }
