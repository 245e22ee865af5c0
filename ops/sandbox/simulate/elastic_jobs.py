"""In some seeds, jobs that hold cards change their size while they run: what users have asked for besides stays as it is."""

import random
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from events.api.labels import (
    ELASTIC_JOB,
    PODSET_PREFERRED_TOPOLOGY,
    PODSET_REQUIRED_TOPOLOGY,
    PODSET_SLICE_REQUIRED_TOPOLOGY,
    PODSET_SLICE_SIZE,
    PODSET_UNCONSTRAINED_TOPOLOGY,
    QUEUE_NAME,
)
from events.event import Millis
from events.json_object import JsonObject, object_at
from ops.sandbox.simulate.users import UserAction

ONE_DOMAIN = (
    PODSET_REQUIRED_TOPOLOGY,
    PODSET_PREFERRED_TOPOLOGY,
    PODSET_SLICE_REQUIRED_TOPOLOGY,
    PODSET_SLICE_SIZE,
)
"""What an elastic job may not ask of a topology, or could not keep when it grows."""


def with_elastic_jobs(
    seed: int, actions: Sequence[UserAction], span: Millis, most: Mapping[str, int]
) -> list[UserAction]:
    """The actions with some jobs elastic, in about half of the seeds; a job has at most as many pods as `most` says of its queue."""
    chance = random.Random(f"{seed}/elastic")  # noqa: S311 - a world, not a secret
    if chance.random() < 0.5:  # noqa: PLR2004
        return list(actions)
    jobs = dict.fromkeys(one.job for one in actions if one.object.get("kind") == "Job")
    chosen = {name for name in jobs if chance.random() < 0.6}  # noqa: PLR2004
    found = [
        replace(one, object=elastic(one.object)) if one.verb == "create" and one.job in chosen else one
        for one in actions
    ]
    return sorted([*found, *changes_of_size(chance, found, span, most)], key=lambda one: one.at)


def elastic(job: JsonObject) -> JsonObject:
    """A Job that says that it is elastic, and lies wherever there is room."""
    meta, spec = object_at(job, "metadata"), object_at(job, "spec")
    template = object_at(spec, "template")
    asked = object_at(template, "metadata", "annotations")
    notes = {name: value for name, value in asked.items() if name not in ONE_DOMAIN}
    if any(name in asked for name in ONE_DOMAIN):
        notes = {name: value for name, value in notes.items() if "topology" not in name}
        notes[PODSET_UNCONSTRAINED_TOPOLOGY] = "true"
    return {
        **job,
        "metadata": {**meta, "annotations": {**object_at(meta, "annotations"), ELASTIC_JOB: "true"}},
        "spec": {
            **{name: value for name, value in spec.items() if name != "completions"},
            "completionMode": "NonIndexed",
            "template": {**template, "metadata": {**object_at(template, "metadata"), "annotations": notes}},
        },
    }


def changes_of_size(
    chance: random.Random, actions: Sequence[UserAction], span: Millis, most: Mapping[str, int]
) -> list[UserAction]:
    """Elastic jobs get other sizes, again and again."""
    found: list[UserAction] = []
    for one in actions:
        if one.verb == "create" and ELASTIC_JOB in one.object["metadata"].get("annotations", {}):
            at, first = one.at, one.object["metadata"]["labels"][QUEUE_NAME]
            # Whoever takes a job to another queue does not do so where it has no room by then.
            later = (other.value for other in actions if other.verb == "queue" and other.job == one.job)
            room = min(most[queue] for queue in (first, *later))
            for _ in range(chance.randrange(4)):
                at += chance.randrange(500, max(span // 6, 1000))
                if at < span:
                    size = chance.randint(1, room)
                    found.append(UserAction(at=at, verb="scale", job=one.job, value=str(size)))
    return found
