"""Preemption gates of worlds: workloads that may preempt nobody until somebody opens their gates, which an eviction closes again."""

import random

from msgspec.structs import replace

from events.event import Millis
from events.json_object import JsonObject
from events.json_path import look
from events.timestamp import format_timestamp
from ops.production.kubernetes.client import ApiRequests
from services.runtime.cluster_port import ObjectConflict, Resource
from tests.peers.worlds.drawn import Step, World, insert_step

GATE_FEATURES = ("MultiKueueOrchestratedPreemption",)
"""The feature gate without which Kueue 0.17 does not look at them."""
_NAMES = ("a", "b")


def with_preemption_gates(world: World, chance: random.Random) -> World:
    """Half of the workloads have gates; of most of these somebody opens one after the other later, and closes one at times."""
    steps = list(world.steps)
    for step in world.steps:
        if step.kind != "Workload" or step.verb != "create" or chance.random() < 0.5:
            continue
        names = _NAMES[: chance.choice((1, 1, 1, 2))]
        value = {**step.value, "spec": {**step.value["spec"], "preemptionGates": [{"name": one} for one in names]}}
        at = steps.index(step)
        steps[at] = replace(step, value=value)
        for name in names:
            if chance.random() < 0.8:
                at = insert_step(steps, at + 1, _turned(step, name, "Open"), chance)
        if chance.random() < 0.3:
            insert_step(steps, at + 1, _turned(step, chance.choice(names), "Closed"), chance)
    return replace(world, steps=tuple(steps))


def _turned(step: Step, gate: str, position: str) -> Step:
    return replace(step, verb="gate", value={"name": gate, "position": position})


async def turn_gate(client: ApiRequests, resource: Resource, step: Step, now: Millis) -> None:
    """Have a workload show in which position a gate of it is, as whoever opens it does, however often others write meanwhile."""
    said = {**step.value, "lastTransitionTime": format_timestamp(now)}
    while True:
        found: JsonObject = await client.get(resource, step.namespace, step.name)
        kept = [one for one in look(found, "status.preemptionGates") or () if one["name"] != step.value["name"]]
        patch = {
            "metadata": {"resourceVersion": found["metadata"]["resourceVersion"]},
            "status": {"preemptionGates": sorted([*kept, said], key=lambda one: one["name"])},
        }
        try:
            await client.merge(resource, step.namespace, step.name, patch, subresource="status")
        except ObjectConflict:
            continue
        return
