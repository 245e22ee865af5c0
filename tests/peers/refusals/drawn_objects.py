"""The object of a seed, and how it is put before an API server: as a new one, or in the place of one that is there."""

import random
from functools import cache
from typing import Any

import msgspec

from events.api import labels
from events.json_object import JsonObject
from tests.peers.refusals.drawn_statuses import drawn_status, next_status
from tests.peers.refusals.mutated import Mutation
from tests.peers.worlds.drawn import drawn
from tests.peers.worlds.varied import varied
from tests.stage.definitions import definitions_of

SPACE = "default"
_ALWAYS = (
    (),
    ("jobs",),
    ("pods",),
    ("kinds",),
    ("serving",),
    ("elastic",),
    ("topology", "leaders", "layers"),
    ("checks", "trees"),
)
_LEFT_OUT = frozenset({"Node", "LimitRange", "RuntimeClass", "Namespace", "ResourceClaimTemplate", "DeviceClass"})
"""What no webhook looks at."""
_OFTEN = (labels.ADMISSION_GATED_BY,) * 5
"""What is judged though nothing else of an object changes."""
_NOTES = (
    *sorted(
        {
            text
            for text in vars(labels).values()
            if isinstance(text, str) and text.startswith("kueue.x-k8s.io/") and "/" in text
        }
    ),
    *_OFTEN,
)


class DrawnObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object that is to be stored."""

    seed: int
    value: JsonObject
    before: JsonObject | None
    """What stands there already; None where it is new."""
    told: tuple[str, ...]
    """How it was changed."""
    part: str = ""
    """The subresource that is written; empty where it is the object."""

    def describe(self) -> str:
        """As it is printed."""
        how = "create" if self.before is None else f"update {self.part}".strip()
        return f"{self.seed} {how} {self.value['kind']} {self.value['metadata']['name']}: {'; '.join(self.told)}"


def drawn_object(chance: random.Random, seed: int, only: set[str]) -> DrawnObject | None:
    """The object of a seed; None where it would not be one of these kinds."""
    world = varied(drawn(seed, always=chance.choice(_ALWAYS)))
    made = [*world.objects, *(step.value for step in world.steps if step.verb == "create")]
    kinds = sorted({one["kind"] for one in made} - _LEFT_OUT)
    if only:
        kinds = [one for one in kinds if one in only]
    if not kinds:
        return None
    kind = chance.choice(kinds)
    base = _placed(chance.choice([one for one in made if one["kind"] == kind]), f"r{seed}")
    mutation = Mutation(chance, _schema(kind), _NOTES)
    value = mutation.of(base, chance.choice((1, 1, 1, 2, 2, 3)))
    if not mutation.told or not isinstance(value.get("spec", {}), dict):
        return None
    before = base if chance.random() < 0.4 else None
    return DrawnObject(seed=seed, value=value, before=before, told=tuple(mutation.told))


def drawn_write(chance: random.Random, seed: int) -> DrawnObject | None:
    """What a seed has somebody write of a Workload's state."""
    world = varied(drawn(seed, always=chance.choice(_ALWAYS)))
    made = [step.value for step in world.steps if step.verb == "create" and step.value["kind"] == "Workload"]
    if not made:
        return None
    base = _placed(chance.choice(made), f"r{seed}")
    status = drawn_status(base, chance)
    mutation = Mutation(chance, _schema("Workload"), (), "status")
    value = {**base, "status": next_status(base, status, chance)}
    if chance.random() < 0.6:
        value = mutation.of(value, chance.choice((1, 1, 2)))
    return DrawnObject(
        seed=seed, value=value, before={**base, "status": status}, told=tuple(mutation.told), part="status"
    )


def _placed(value: JsonObject, name: str) -> JsonObject:
    meta = {**value["metadata"], "name": name}
    if "namespace" in meta:
        meta["namespace"] = SPACE
    return {key: one for key, one in {**value, "metadata": meta}.items() if key != "status"}


@cache
def _schema(kind: str) -> JsonObject:
    for one in definitions_of("kueue"):
        if one["spec"]["names"]["kind"] == kind:
            version: Any = next(each for each in one["spec"]["versions"] if each["name"] == "v1beta2")
            found: JsonObject = version["schema"]["openAPIV3Schema"]
            return found
    return {}
