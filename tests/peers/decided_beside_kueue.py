"""Worlds by chance, decided by Kueue's own manager and by kuelog: `python -m tests.peers.decided_beside_kueue --seed 1 --worlds 40`.

Kueue decides before a real API server, about all worlds of a run at once; kuelog in this process, about one after the other.
What both come to is compared after each step: docs/rules/README.md#beside-kueue. `make peers` builds what this needs.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from events.json_object import JsonObject
from ops.production.process.telemetry import configure_logging
from tests.peers.build import AUTOSCALER, KINDS, PEERS
from tests.peers.worlds.claims import CLAIM_FEATURES, COUNTED
from tests.peers.worlds.clusters import CLUSTERS
from tests.peers.worlds.clusters_decided import decided_in_clusters
from tests.peers.worlds.compared import MEANT, compared, preempted_for_ever
from tests.peers.worlds.drawn import (
    ELASTIC_GATES,
    FEATURES,
    PODS_READY,
    RETENTION,
    USAGE,
    WEIGHTS,
    WITH_DEFINITIONS,
    World,
    drawn,
)
from tests.peers.worlds.here import NeverAtRest, decided_here
from tests.peers.worlds.preemption_gates import GATE_FEATURES
from tests.peers.worlds.stored_specs import with_specs
from tests.peers.worlds.there import NO_REST, Answer, kueue
from tests.peers.worlds.varied import varied
from tests.stage.definitions import definitions_in


async def _asked(
    peers: Path,
    worlds: list[World],
    at_once: int,
    *,
    fair: bool,
    more: JsonObject,
    kinds: list[JsonObject],
    autoscaler: list[JsonObject],
) -> dict[int, Answer]:
    answers: dict[int, Answer] = {}
    with TemporaryDirectory(prefix="decided-beside-kueue-") as folder:
        async with kueue(peers, Path(folder), fair=fair, more=more, kinds=kinds, autoscaler=autoscaler) as manager:
            # It holds for all of Kueue: worlds that are played at once would wait for the pods of each other.
            alone = bool((more.get("waitForPodsReady") or {}).get("blockAdmission"))
            at_once = 1 if alone else at_once
            for begin in range(0, len(worlds), at_once):
                answers.update(await manager.play(worlds[begin : begin + at_once]))
                if alone:
                    await manager.clear(worlds[begin : begin + at_once])
                print(f"Kueue has decided about {len(answers)} worlds", file=sys.stderr, flush=True)
    return answers


def _configured(always: list[str], said: JsonObject, *, block: bool) -> JsonObject:
    """What the configuration says beside what it says of all worlds; `said` goes before what features have it say."""
    more: JsonObject = {}
    if "ready" in always:
        more["waitForPodsReady"] = {**PODS_READY, "blockAdmission": block}
    if "usage" in always:
        more["admissionFairSharing"] = {**USAGE, **({"resourceWeights": WEIGHTS} if "weights" in always else {})}
    if "retention" in always:
        more["objectRetentionPolicies"] = RETENTION
    if "claims" in always:
        more["resources"] = COUNTED
    needed = {
        "elastic": ELASTIC_GATES,
        "rays": ELASTIC_GATES,
        "gates": GATE_FEATURES,
        "claims": CLAIM_FEATURES,
        "positions": ("VisibilityOnDemand",),
    }
    gates = [gate for feature, those in needed.items() if feature in always for gate in those]
    if gates:
        more["featureGates"] = dict.fromkeys(gates, True)
    return {**more, **said}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.peers.decided_beside_kueue", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the first world; the others follow")
    parser.add_argument("--worlds", type=int, default=40, help="how many")
    parser.add_argument("--at-once", type=int, default=40, help="about how many of them Kueue decides at the same time")
    parser.add_argument("--features", default=",".join(FEATURES), help="what worlds may have beside quota")
    parser.add_argument("--always", default="", help="which of these every world has")
    parser.add_argument("--fair", action="store_true", help="under fair sharing")
    parser.add_argument("--block", action="store_true", help="with blockAdmission where worlds always have `ready`")
    parser.add_argument("--configuration", default="{}", help="what Kueue's configuration says besides, as JSON")
    parser.add_argument("--peers", type=Path, default=PEERS, help="where `make peers` has put its programs")
    parser.add_argument(
        "--answers",
        type=Path,
        default=None,
        help="where Kueue's answers are kept; those that are there are not asked for again",
    )
    return parser


def main() -> int:
    """Decide about so many worlds, and print where both differ; 0 where they never do."""
    given = _parser().parse_args()
    configure_logging("critical")
    if CLUSTERS in given.always.split(","):
        seeds = range(given.seed, given.seed + given.worlds)
        more = json.loads(given.configuration)
        return decided_in_clusters(seeds, given.at_once, given.peers.resolve(), more, given.answers)
    return _decided(given)


def _decided(given: argparse.Namespace) -> int:
    worlds = [
        varied(drawn(seed, given.features.split(","), given.always.split(",")))
        for seed in range(given.seed, given.seed + given.worlds)
    ]
    more = _configured(given.always.split(","), json.loads(given.configuration), block=given.block)
    kinds, autoscaler = (
        definitions_in(given.peers / folder) if features & set(given.always.split(",")) else []
        for features, folder in ((WITH_DEFINITIONS, KINDS), (frozenset({"provisioning"}), AUTOSCALER))
    )
    kept: Path | None = given.answers
    if kept is not None and kept.exists():
        stored = json.loads(kept.read_text())
    else:
        asked = asyncio.run(
            _asked(
                given.peers.resolve(),
                worlds,
                given.at_once,
                fair=given.fair,
                more=more,
                kinds=kinds,
                autoscaler=autoscaler,
            )
        )
        stored = {str(seed): vars(one) for seed, one in asked.items()}
        if kept is not None:
            kept.write_text(json.dumps(stored))
    differing, steps, had, meant = 0, 0, Counter[str](), Counter[str]()
    for world in worlds:
        answer = stored[str(world.seed)]
        if answer["broken"]:
            print(f"world {world.seed} after step {len(answer['seen']) - 1}: {answer['broken']}")
        steps += len(answer["seen"])
        had.update(world.features)
        try:
            played = with_specs(world, answer.get("jobs", {}))
            ours = decided_here(played, answer["uids"], fair=given.fair, more=more, kinds=kinds, autoscaler=autoscaler)
        except NeverAtRest as never:
            last = len(never.seen) - 1
            differences = compared(world, answer["seen"][:last], never.seen, meant)
            neither = last == len(answer["seen"]) and NO_REST in answer["broken"]
            if not differences and (neither or preempted_for_ever(answer["seen"], never.seen)):
                meant["preempted for ever"] += 1
            else:
                differences.append(f"world {world.seed} step {last}: kuelog does not come to rest")
        else:
            differences = compared(world, answer["seen"], ours, meant)
        differing += bool(differences)
        for line in differences:
            print(line)
    print(f"{len(worlds)} worlds, {steps} steps, {differing} worlds differ; {dict(had)}")
    for name, count in meant.most_common():
        print(f"{count} times {name}: {MEANT[name]}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
