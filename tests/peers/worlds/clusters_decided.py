"""Worlds of several clusters, decided by Kueue's own managers and by kuelog, and where both differ."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from events.json_object import JsonObject
from tests.peers.worlds.clusters import PLACES, ClustersWorld, drawn_clusters
from tests.peers.worlds.clusters_end import why_clusters_end
from tests.peers.worlds.clusters_here import decided_in_clusters_here
from tests.peers.worlds.clusters_there import broken_in, managers
from tests.peers.worlds.clusters_varied import varied_clusters
from tests.peers.worlds.compared import MEANT, compared_until
from tests.peers.worlds.here import NeverAtRest
from tests.peers.worlds.seen import Seen
from tests.peers.worlds.stored_specs import with_specs

_Stored = Mapping[str, Mapping[str, Any]]
"""By place, what Kueue has come to there."""


def decided_in_clusters(seeds: Sequence[int], at_once: int, peers: Path, more: JsonObject, kept: Path | None) -> int:
    """Decide about the worlds of these seeds, and print where both differ; 0 where they never do."""
    worlds = [varied_clusters(drawn_clusters(seed)) for seed in seeds]
    if kept is not None and kept.exists():
        stored: dict[str, _Stored] = json.loads(kept.read_text())
    else:
        stored = asyncio.run(_asked(peers, worlds, at_once, more))
        if kept is not None:
            kept.write_text(json.dumps(stored))
    differing, steps, reached, meant = 0, 0, 0, Counter[str]()
    for world in worlds:
        last, found = differences_of(world, stored[str(world.seed)], more, meant)
        reached += last
        steps += min(len(one["seen"]) for one in stored[str(world.seed)].values())
        differing += bool(found)
        for line in found:
            print(line, flush=True)
    print(
        f"{len(worlds)} worlds of several clusters, {steps} steps, {reached} of them compared, {differing} worlds differ"
    )
    for name, count in meant.most_common():
        print(f"{count} times {name}: {MEANT[name]}")
    return 1 if differing else 0


async def _asked(peers: Path, worlds: Sequence[ClustersWorld], at_once: int, more: JsonObject) -> dict[str, _Stored]:
    stored: dict[str, _Stored] = {}
    with TemporaryDirectory(prefix="decided-beside-kueue-") as folder:
        async with managers(peers, Path(folder), more) as three:
            for begin in range(0, len(worlds), at_once):
                for seed, of in (await three.play(worlds[begin : begin + at_once])).items():
                    stored[str(seed)] = {place: vars(one) for place, one in of.items()}
                    if broken := broken_in(of):
                        print(f"world {seed} after step {len(of[PLACES[0]].seen) - 1}: {broken}")
                print(f"Kueue has decided about {len(stored)} worlds", file=sys.stderr, flush=True)
    return stored


def differences_of(
    world: ClustersWorld, stored: _Stored, more: JsonObject, meant: Counter[str]
) -> tuple[int, list[str]]:
    """How many steps were compared, and the differences after the last of them that are not meant, in each place that has any."""
    world = completed(world, stored)
    try:
        ours = decided_in_clusters_here(world, {place: one["uids"] for place, one in stored.items()}, more)
    except NeverAtRest:
        return 0, [f"world {world.seed}: kuelog does not come to rest"]
    return compared_places(world, {place: one["seen"] for place, one in stored.items()}, ours, meant)


def completed(world: ClustersWorld, stored: _Stored) -> ClustersWorld:
    """The world with Jobs as the API servers have completed them."""
    steps = {place: with_specs(world.at(place), one["jobs"]).steps for place, one in stored.items()}
    return replace(
        world,
        steps=tuple(replace(one, step=steps[one.places[0]][number]) for number, one in enumerate(world.steps)),
    )


def compared_places(
    world: ClustersWorld, theirs: Mapping[str, list[Seen]], ours: Mapping[str, list[Seen]], meant: Counter[str]
) -> tuple[int, list[str]]:
    """How many steps were compared, and the differences after the last of them that are not meant."""
    steps = min(len(one) for one in (*theirs.values(), *ours.values()))
    sides = [
        [{place: one[number] for place, one in side.items()} for number in range(steps)] for side in (theirs, ours)
    ]
    nothing: Mapping[str, Seen] = dict.fromkeys(PLACES, {"workloads": {}})
    ended = ""
    for number, (there, here) in enumerate(zip(*sides, strict=True)):
        ended = why_clusters_end(world, number, sides[0][number - 1] if number else nothing, there, here)
        if ended:
            steps = number
            break
    told: dict[str, list[str]] = {}
    for place in PLACES:
        last, lines = compared_until(world.at(place), theirs[place][:steps], ours[place], Counter())
        if last + 1 < steps:
            steps, told, ended = last + 1, {}, ""
        told[place] = lines
    for place in PLACES:
        compared_until(world.at(place), theirs[place][:steps], ours[place], meant)
    if ended:
        meant[ended] += 1
    lines = [line for place, those in told.items() if those for line in (f"  in {place}", *those)]
    return steps, [f"world {world.seed} step {steps - 1}: {world.steps[steps - 1]}", *lines] if lines else []
