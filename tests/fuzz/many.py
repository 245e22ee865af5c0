"""Many platforms, on several processes: each under its wild messages or objects, and what does harm is shrunk to the fewest."""

import gc
import multiprocessing
import signal
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from enum import StrEnum

import msgspec

from ops.production.process.telemetry import configure_logging
from tests.fuzz.inputs import inputs_of
from tests.fuzz.objects import objects_of, play_objects
from tests.fuzz.play import fewest, play
from tests.fuzz.watch import NeverAtRest, watched

EACH = 40
"""So many messages or objects come upon one platform."""
_LIVES = 100
"""After so many platforms a process makes way for a fresh one: what Python keeps must not add up."""

_SHRINKING_S = 300.0
"""Of a processor's time: what takes long until it does harm is told with more messages than it needs."""


class What(StrEnum):
    """What a platform is put under."""

    MESSAGES = "messages"
    OBJECTS = "objects"


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One platform, and what comes upon it."""

    what: What
    seed: int
    only: tuple[int, ...] | None = None
    """Which of its messages or objects, by index; all of them when nothing is said."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """How it went."""

    order: Order
    count: int
    harm: str = ""
    told: tuple[str, ...] = ()
    """What did the harm."""
    aside: dict[str, int] = {}
    """What failed and harmed nobody else."""

    @property
    def command(self) -> str:
        """The command that plays it again."""
        only = ",".join(one.partition(":")[0] for one in self.told)
        return f"python -m tests.fuzz --what {self.order.what} --seed {self.order.seed} --count {EACH} --only {only}"


def play_order(order: Order) -> Verdict:
    """Play one platform; of one that is harmed, the fewest messages or objects that still do the same."""
    verdict = _play(order)
    if verdict.harm and len(verdict.told) > 1:
        indexes = [int(one.partition(":")[0]) for one in verdict.told]
        until = time.process_time() + _SHRINKING_S

        def harmful(some: Sequence[int]) -> bool:
            return time.process_time() < until and _same(
                _play(msgspec.structs.replace(order, only=tuple(some))).harm, verdict.harm
            )

        verdict = _play(msgspec.structs.replace(order, only=tuple(fewest(indexes, harmful))))
    return verdict


def _play(order: Order) -> Verdict:
    try:
        with watched():
            return _played(order)
    except NeverAtRest as problem:
        # It has left the loop itself, where nobody takes it.
        return Verdict(order=order, count=EACH, harm=f"NeverAtRest: {problem}", told=_all_of(order))
    finally:
        # What one platform leaves has to go before the next one comes: shrinking plays hundreds of them.
        gc.collect()


def _all_of(order: Order) -> tuple[str, ...]:
    draw = inputs_of if order.what is What.MESSAGES else objects_of
    return tuple(str(one) for one in draw(order.seed, EACH) if order.only is None or one.index in order.only)


def _played(order: Order) -> Verdict:
    only = order.only
    if order.what is What.MESSAGES:
        inputs = [one for one in inputs_of(order.seed, EACH) if only is None or one.index in only]
        course = play(order.seed, inputs)
        told = tuple(str(one) for one in inputs)
        return Verdict(order=order, count=len(inputs), harm=course.harm, told=told, aside=course.aside)
    objects = [one for one in objects_of(order.seed, EACH) if only is None or one.index in only]
    found = play_objects(order.seed, objects)
    told = tuple(str(one) for one in objects)
    unnamed = {f"watcher: {message}": count for message, count in found.refused.items() if message}
    return Verdict(order=order, count=len(objects), harm=found.harm, told=told, aside=unnamed)


def _same(one: str, other: str) -> bool:
    """Whether two harms are of one kind, whatever numbers and names they tell."""
    return one[:_KIND] == other[:_KIND] and bool(one)


@contextmanager
def played(orders: Sequence[Order], processes: int) -> Generator[Generator[Verdict, None, None], None, None]:
    """The verdicts as they come; whoever leaves early leaves nothing running."""
    if processes <= 1 or len(orders) <= 1:
        yield (play_order(order) for order in orders)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, _prepare, maxtasksperchild=_LIVES) as pool:
        yield (verdict for verdict in pool.imap_unordered(play_order, orders))


def _prepare() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    configure_logging("critical")


_KIND = 30
