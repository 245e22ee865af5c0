"""One scheduling cycle of Kueue's own scheduler beside one of kuelog: `python -m tests.peers.cycles_beside_kueue --seeds 1-1000`.

No API server is needed: Kueue's scheduler is played on a fake client. It is built at first, and then takes some
milliseconds a world: docs/rules/README.md#cycles-beside-kueue.
"""

import argparse
import hashlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from events.json_object import JsonObject
from ops.production.process.telemetry import configure_logging
from tests.peers.build import PEERS
from tests.peers.cycles.answer import Answer, answer_of
from tests.peers.cycles.apart import ALONE, CHANCE, MEANT, apart, breaks_off, shown, why_meant
from tests.peers.cycles.drawn import drawn
from tests.peers.cycles.here import decided_here
from tests.peers.cycles.program import CyclesNotPlayed, compiled, played
from tests.peers.cycles.world import FEATURES, World
from tests.peers.worlds.difference import Difference

_AT_ONCE = 500
"""How many worlds Kueue is asked about in one process."""
_AGAIN = 8
"""How often it is asked again about one in which decisions differ."""


class Kept(msgspec.Struct, frozen=True):
    """Answers that were kept."""

    worlds: str
    """The hash of the worlds that they are about."""
    answers: list[Answer]


class Compared(msgspec.Struct):
    """What became of all worlds."""

    worlds: int = 0
    differing: int = 0
    deciding: int = 0
    """In how many somebody was let in or preempted."""
    alike: Counter[str] = msgspec.field(default_factory=Counter)
    having: Counter[str] = msgspec.field(default_factory=Counter)
    meant: Counter[str] = msgspec.field(default_factory=Counter)

    def describe(self) -> list[str]:
        """So many worlds, then each feature and what was meant."""
        agree = self.worlds - self.differing
        lines = [
            f"{self.worlds} worlds, in {self.deciding} something is decided, {agree} agree but for what is meant, {self.differing} differ"
        ]
        lines += [f"  {one}: {self.alike[one]} of {self.having[one]} agree" for one in FEATURES if self.having[one]]
        return lines + [f"{count} times {name}: {MEANT[name]}" for name, count in self.meant.most_common()]


def asked(program: Path, worlds: Sequence[World]) -> list[Answer]:
    """What Kueue's scheduler makes of each. Raises `CyclesNotPlayed`."""
    told: list[JsonObject] = []
    for begin in range(0, len(worlds), _AT_ONCE):
        told += played(program, [msgspec.to_builtins(one) for one in worlds[begin : begin + _AT_ONCE]])
    return [answer_of(one) for one in told]


def asked_or_kept(program: Path, worlds: Sequence[World], file: Path | None) -> list[Answer]:
    """Kueue's answers, from this file where those of just these worlds are there; else they are kept there. Raises `CyclesNotPlayed`."""
    if file is None:
        return asked(program, worlds)
    drawn_so = hashlib.sha256(msgspec.json.encode(worlds)).hexdigest()
    if file.exists() and (kept := msgspec.json.decode(file.read_bytes(), type=Kept)).worlds == drawn_so:
        return kept.answers
    answers = asked(program, worlds)
    file.write_bytes(msgspec.json.encode(Kept(drawn_so, answers)))
    return answers


def unmeant(
    world: World, there: Answer, here: Answer, again: Callable[[World], Iterable[Answer]], meant: Counter[str]
) -> list[str]:
    """What is printed of a world: nothing where both agree, or where all that differs is meant, which is counted."""
    if breaks_off(world, there):
        meant[ALONE] += 1
        return []
    if there.error:
        return [f"  Kueue's scheduler gives no answer: {there.error}"]
    found: dict[str, list[Difference]] = {}
    for tree, differing in apart(world, there, here).items():
        if name := why_meant(world, there, here, differing):
            meant[name] += 1
        else:
            found[tree] = differing
    if found and any(not one.error and not found.keys() & apart(world, one, here).keys() for one in again(world)):
        meant[CHANCE] += 1
        return []
    return [line for differing in found.values() for line in shown(world, there, here, differing)]


def compared(
    worlds: Sequence[World], answers: Sequence[Answer], again: Callable[[World], Iterable[Answer]]
) -> Compared:
    """Decide about all worlds here, and print where Kueue has decided otherwise."""
    total = Compared(worlds=len(worlds))
    for world, there in zip(worlds, answers, strict=True):
        lines = unmeant(world, there, decided_here(world), again, total.meant)
        total.having.update(world.features)
        total.deciding += _decides(world, there)
        if lines:
            total.differing += 1
            print(f"world {world.seed} ({', '.join(world.features)})", *lines, sep="\n")
        else:
            total.alike.update(world.features)
    return total


def _decides(world: World, there: Answer) -> bool:
    held = {one["metadata"]["name"] for one in world.workloads if "admission" in one["status"]}
    return bool(there.preempted or there.holds.keys() - held)


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _features(text: str) -> list[str]:
    found = [one for one in text.split(",") if one]
    if strange := sorted({*found} - FEATURES.keys()):
        raise argparse.ArgumentTypeError(f"there is no {', '.join(strange)}: {', '.join(FEATURES)}")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.peers.cycles_beside_kueue", description=__doc__)
    parser.add_argument("--seeds", type=_seeds, default=range(1, 1001), help="of the worlds, such as 1-1000 or 17")
    parser.add_argument(
        "--with", type=_features, dest="having", help="just these in every world; else each draws some of its own"
    )
    parser.add_argument(
        "--answers", type=Path, help="where Kueue's answers are kept; it is not asked again about the same worlds"
    )
    return parser


def main() -> int:
    """Decide about so many worlds, and print where both differ; 0 where they never do but where it is meant."""
    given = _parser().parse_args()
    configure_logging("critical")
    worlds = [drawn(seed, given.having) for seed in given.seeds]
    began = time.monotonic()
    try:
        program = compiled(PEERS / "cycles")
        built = time.monotonic()
        answers = asked_or_kept(program, worlds, given.answers)
    except (CyclesNotPlayed, subprocess.CalledProcessError, FileNotFoundError) as failed:
        sys.exit(f"cycles: {failed}")
    decided = time.monotonic()
    total = compared(worlds, answers, lambda world: asked(program, [world] * _AGAIN))
    print(*total.describe(), sep="\n")
    print(f"built in {built - began:.0f} s, Kueue {decided - built:.1f} s, kuelog {time.monotonic() - decided:.1f} s")
    return 1 if total.differing else 0


if __name__ == "__main__":
    sys.exit(main())
