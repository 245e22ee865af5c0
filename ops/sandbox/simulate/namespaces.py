"""Users of a simulated platform in namespaces of their own: some with one queue, some with several, whose trees may lie apart."""

import random
from collections.abc import Sequence

import msgspec

from events.api.labels import QUEUE_NAME
from events.json_object import JsonObject
from ops.sandbox.simulate.platform import SeedPlatform
from ops.sandbox.simulate.users import NAMESPACE, UserAction

NAMES = (NAMESPACE, "red", "blue")


def spread(platform: SeedPlatform, seed: int) -> None:
    """Put every local queue of a platform, and the jobs that ask for it, into a namespace that the seed chooses."""
    chance = random.Random(f"{seed}/namespaces")  # noqa: S311 - a world, not a secret
    spaces = {name: chance.choice(NAMES) for name in platform.queues}
    made: list[JsonObject] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": one}} for one in NAMES[1:]]
    platform.objects = [*made, *(_moved(one, spaces.get(one["metadata"]["name"], "")) for one in platform.objects)]
    platform.actions = [_in_its(one, spaces) for one in platform.actions]
    platform.namespaces = spaces


def namespaces_of(actions: Sequence[UserAction]) -> dict[str, str]:
    """By job the namespace in which its users create it."""
    return {
        one.job: one.object["metadata"]["namespace"] for one in actions if "namespace" in one.object.get("metadata", {})
    }


def _in_its(action: UserAction, spaces: dict[str, str]) -> UserAction:
    if not action.object:
        return action
    queue = action.object["metadata"].get("labels", {}).get(QUEUE_NAME, "")
    value = {**action.object, "metadata": {**action.object["metadata"], "namespace": spaces.get(queue, NAMESPACE)}}
    return msgspec.structs.replace(action, object=value)


def _moved(value: JsonObject, namespace: str) -> JsonObject:
    if value["kind"] != "LocalQueue":
        return value
    return {**value, "metadata": {**value["metadata"], "namespace": namespace}}
