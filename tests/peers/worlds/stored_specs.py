"""Jobs and pods of a world as a real API server has completed them, so that both managers begin with the same."""

from collections.abc import Mapping

from msgspec.structs import replace

from events.json_object import JsonObject
from events.json_path import get, put
from tests.peers.worlds.drawn import Step, World
from tests.peers.worlds.elastic import is_elastic
from tests.peers.worlds.job_kinds import PLAYED
from tests.peers.worlds.serving import SERVED, TEMPLATES
from tests.peers.worlds.trainer import TRAIN_JOB
from tests.peers.worlds.trainer import completed as completed_job

SUSPEND = {"Job": ("spec", "suspend"), **{name: one.suspend for name, one in PLAYED.items()}}
"""By kind of job, where it says that it is suspended."""


def with_specs(world: World, specs: Mapping[str, JsonObject]) -> World:
    """The world with these specs of jobs and pods, by name; they are suspended or not as they were drawn."""

    def completed(step: Step) -> Step:
        if step.verb != "create" or step.name not in specs or step.kind not in (*SUSPEND, *SERVED, "Pod"):
            return step
        value: JsonObject = {**step.value, "spec": specs[step.name]}
        if step.kind == "Pod":  # Each manager holds it back by a gate of its own.
            return replace(step, value=put(value, ("spec", "schedulingGates"), None))
        if step.kind in SERVED:
            for at in TEMPLATES[step.kind]:
                if get(value, at) is not None:
                    value = put(value, (*at, "metadata"), get(step.value, (*at, "metadata")))
            return replace(step, value=value)
        if step.kind == TRAIN_JOB:
            value = {**value, "spec": completed_job(step, specs[step.name])}
        if is_elastic(step.value):  # Kueue puts its gate into the template at once.
            value = put(value, ("spec", "template", "spec", "schedulingGates"), None)
        return replace(step, value=put(value, SUSPEND[step.kind], get(step.value, SUSPEND[step.kind])))

    return replace(world, steps=tuple(completed(step) for step in world.steps))
