"""Workloads of another priority than was recorded."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from events.catalogue import Fact
from events.workload import WorkloadChanged, WorkloadSubmitted
from ops.queries.settings_change import BadChange
from projections.explanation.about import canonical
from projections.world import World

FIELD = "spec.priority"


class Priorities:
    """Priorities by `workload/NS/NAME:spec.priority=N`, or `job/…`. Raises `BadChange`."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._by_object = dict(_read(text) for text in texts)
        self._used: set[str] = set()

    @property
    def unused(self) -> list[str]:
        """The objects that are nowhere on the log."""
        return [name for name in self._by_object if name not in self._used]

    def at_fork(self, world: World) -> Iterator[Fact]:
        """The facts that give the workloads of a world their priorities."""
        for key, workload in world.workloads.items() if self._by_object else ():
            owner = workload.owner.name if workload.owner is not None else ""
            priority = self._of(key, owner)
            if priority is not None and not workload.finished:
                changed = replace(workload.spec, priority=priority)
                yield WorkloadChanged(workload=key, generation=workload.generation, spec=changed)

    def of(self, fact: Fact, world: World) -> Fact:
        """What is to come, with its priority."""
        match fact:
            case WorkloadSubmitted():
                owner = fact.owner.name if fact.owner is not None else ""
            case WorkloadChanged():
                known = world.workloads.get(fact.workload)
                owner = known.owner.name if known is not None and known.owner is not None else ""
            case _:
                return fact
        priority = self._of(fact.workload, owner)
        return fact if priority is None else replace(fact, spec=replace(fact.spec, priority=priority))

    def _of(self, key: str, owner: str) -> int | None:
        for name in (f"workload/{key}", f"job/{key.partition('/')[0]}/{owner}"):
            if name in self._by_object:
                self._used.add(name)
                return self._by_object[name]
        return None


def is_priority(text: str) -> bool:
    """Whether a change is about a workload or job."""
    return canonical(text.partition(":")[0]).partition("/")[0] in ("workload", "job") and ":" in text


def _read(text: str) -> tuple[str, int]:
    named, _, rest = text.partition(":")
    about = canonical(named)
    path, _, value = rest.partition("=")
    number = value.removeprefix("-")
    if path != FIELD or not (number.isascii() and number.isdigit()) or about.count("/") != len(("kind", "space")):
        raise BadChange(f"{text!r}: of a workload its priority can be set: write workload/NS/NAME:{FIELD}=100")
    return about, int(value)
