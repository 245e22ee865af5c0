"""Answers about a folded log as plain values: what `-o json` prints on the command line, and what the console serves."""

from collections.abc import Callable
from typing import Any

import msgspec

from events.json_object import JsonObject
from events.quota import ClusterQueueObserved, CohortObserved
from events.timestamp import format_exactly
from ops.production.cards_view import card_views, domain_capacities, flavor_offers, model_capacities, unwanted
from ops.production.claimed_view import device_rows
from ops.queries.clusters_view import worker_clusters
from ops.queries.explaining import explain, find_workload, stops
from ops.queries.patience import Patience
from ops.queries.point import NotOnTheLog, Point
from ops.queries.queue_explained import explain_local_queue, explain_queue
from ops.queries.stored import in_order
from ops.queries.time_travel import WorldAt, stamp
from ops.queries.topology_view import flavor_domains
from projections.configuration import Configuration, refused_because
from projections.devices.registration.node_lock import waited_for
from projections.explanation.about import objects_of
from projections.explanation.life import Life, LifeMoment
from projections.explanation.read_models import queue_rows, usage_rows, workload_rows
from projections.state_hash import tables
from projections.world import World

_NAMED = 20

ROWS: dict[str, Callable[[World, str], Any]] = {
    "queues": queue_rows,
    "workloads": workload_rows,
    "usage": usage_rows,
    "topology": lambda world, _tree: flavor_domains(world),
    "clusters": lambda world, _tree: worker_clusters(world).clusters,
    "state": lambda world, _tree: dict(tables(world)),
}
"""By name, what `kuelog replay --show` prints of a world, or of one tree of quota where it is named."""


Reads = Callable[[str], bool]
"""Whether somebody may read a workload or job, by its `namespace/name`."""


def _all(key: str) -> bool:
    del key
    return True


def explained(
    world: World,
    point: Point,
    wanted: str,
    reads: Reads = _all,
    *,
    deep: bool = True,
    patience: Patience | None = None,
    last: LifeMoment | None = None,
) -> JsonObject:
    """Why an object of a canonical name stands as it does; what may not be read is not known, and not named either.

    `last` is the last moment of its life, where that was looked up already. Without `deep` it is the first answer, without trials and without what happened before. The world is that of the point. Raises `NotOnTheLog` for what the log does not know.
    """
    kind, _, name = wanted.partition("/")
    match kind:
        case "clusterqueue":
            if name not in world.cluster_queues:
                instead = _refused(world, wanted) or _gone(wanted, last or _last_of(wanted, point))
                raise instead or unknown(wanted, [f"clusterqueue/{one}" for one in world.cluster_queues])
            return explain_queue(world, name, point.at)
        case "localqueue":
            return explain_local_queue(world, _local_queue(world, point, wanted, reads), point.at)
        case "job" | "workload":
            found = find_workload(world, wanted)
            readable = {key: None for key in world.workloads if reads(key)}
            if found is None or found.key not in readable:
                if found is None and reads(name):
                    instead = _refused(world, wanted) or _gone(wanted, last or _last_of(wanted, point))
                    if instead is not None:
                        raise instead
                names = [f"{kind}/{key}" for key in readable]
                if kind == "job":
                    names = [f"job/{world.workloads[key].job}" for key in readable]
                raise unknown(wanted, names)
            explanation = explain(world, found, point.at, deep=deep, patience=patience)
            if deep:
                explanation.stops = stops(point, found.key)
            return msgspec.to_builtins(explanation)
        case _:
            raise NotOnTheLog(
                f"a {kind} is not explained: write job/NAMESPACE/NAME, workload/…, clusterqueue/NAME or localqueue/NAMESPACE/NAME; "
                "`kuelog history` shows the life of anything"
            )


def _local_queue(world: World, point: Point, wanted: str, reads: Reads) -> str:
    """The key of a local queue that is asked for by `localqueue/namespace/name`, or by its name alone where that is of one namespace."""
    name = wanted.partition("/")[2]
    readable = [key for key in sorted(world.local_queues) if reads(key)]
    found = [key for key in readable if name in (key, key.partition("/")[2])]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotOnTheLog(
            f"several namespaces have a localqueue {name}: write {' or '.join(f'localqueue/{one}' for one in found[:_NAMED])}"
        )
    instead = (_refused(world, wanted) or _gone(wanted, _last_of(wanted, point))) if reads(name) else None
    raise instead or unknown(wanted, [f"localqueue/{key}" for key in readable])


def life_of(wanted: str, point: Point, *, everything: bool = False, reads: Reads = _all) -> list[LifeMoment]:
    """The life of an object of a canonical name up to a point; with `everything` also what is seldom looked for.

    Where it is not known, those that are and may be read are named. Raises `NotOnTheLog` for what the log does not know.
    """
    life = _life(wanted, point)
    if not life.lines:
        implied = _implied(wanted, point) if wanted.startswith("cohort/") else None
        raise implied or unknown(wanted, [one for one in life.known if reads(one.partition("/")[2])])
    return life.lines if everything else [line for line in life.lines if not line.note]


def _implied(wanted: str, point: Point) -> NotOnTheLog | None:
    """The failure for a cohort without an object, which is there by those that name it; None where none does."""
    name = wanted.partition("/")[2]
    named = {
        f"clusterqueue/{one.event.name}"
        if isinstance(one.event, ClusterQueueObserved)
        else f"cohort/{one.event.name}": None
        for one in in_order(point.entries)
        if (isinstance(one.event, ClusterQueueObserved) and one.event.cohort == name)
        or (isinstance(one.event, CohortObserved) and one.event.parent == name)
    }
    if not named:
        return None
    members = sorted(named)
    more = f" and {len(members) - _NAMED} more" if len(members) > _NAMED else ""
    return NotOnTheLog(
        f"cohort {name} has no object, and so no life of its own: it is there because {', '.join(members[:_NAMED])}{more} named it; "
        f"ask for the history of these: `kuelog history {members[0]}`"
    )


def _life(wanted: str, point: Point) -> Life:
    life = Life(wanted)
    for stored in in_order(point.entries):
        life.fold(stored.event, stored.place, cause=stored.cause, trace=stored.entry.trace)
    return life


def _last_of(wanted: str, point: Point) -> LifeMoment | None:
    return next(reversed(_life(wanted, point).lines), None)


def cards_answer(moment: WorldAt, *, node: str = "", model: str = "") -> JsonObject:
    """Every card with its slices, or those of a node or model; what flavors offer, and what is free of each model."""
    world = moment.world
    answer = {
        **stamp(moment),
        "cards": card_views(world, node=node, model=model),
        "locks": [waited_for(world, name, moment.at) for name in sorted(world.node_locks)],
        "unwanted": unwanted(world),
        "flavors": [{**msgspec.structs.asdict(one), "offered": one.offered} for one in flavor_offers(world)],
        "domains": domain_capacities(world),
        "claimable": [] if model else device_rows(world, node=node),
        "models": [
            {**msgspec.structs.asdict(one), "scattered_memory": one.scattered_memory} for one in model_capacities(world)
        ],
    }
    return msgspec.to_builtins(answer)


def _refused(world: Configuration, wanted: str) -> NotOnTheLog | None:
    """The failure for an object that is there and could not be understood; None where it is not so."""
    found = next((one for one in world.refused.values() if wanted in objects_of(one)), None)
    if found is None:
        return None
    kind, _, name = wanted.partition("/")
    return NotOnTheLog(f"{kind} {name} was refused: {refused_because(found)}; nothing is known of it but that")


def _gone(wanted: str, last: LifeMoment | None) -> NotOnTheLog | None:
    """The failure for an object that was there once; None for one that never was."""
    if last is None:
        return None
    kind, _, name = wanted.partition("/")
    place = f"{last.partition}/{last.sequence}"
    return NotOnTheLog(
        f"there is no {kind} {name} as of then: the last that the log knows of it is {last.what} at {format_exactly(last.at)} ({place}); "
        f"ask as of a moment before that, and `kuelog history {wanted}` for all of it"
    )


def unknown(wanted: str, known: list[str]) -> NotOnTheLog:
    """The failure for an object that is not on the log; it names some of those that are."""
    kind, _, name = wanted.partition("/")
    names = sorted(one.partition("/")[2] for one in known if one.startswith(f"{kind}/"))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return NotOnTheLog(f"the log knows no {kind} {name}; it knows {', '.join(names[:_NAMED]) or 'none'}{more}")
