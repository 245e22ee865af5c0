"""The life of any object, moment by moment: what happened, its detail, and what had caused it."""

from typing import Any

import msgspec

from events.application import DecisionApplied
from events.catalogue import AnyEvent
from events.control import ObjectRefused, ObjectRemoved
from events.device import DevicesReleased, DevicesReserved, PodCardsAssigned, PodObserved
from events.event import Millis
from events.json_object import is_array, is_object
from events.multikueue import RemoteCheckSettled
from events.preemption import PreemptionRefused, PreemptionWasted, RoomClaimed
from events.provisioning import (
    ProvisioningDropped,
    ProvisioningOrdered,
    ProvisioningRejected,
    ProvisioningRequestObserved,
)
from events.upkeep import CheckSettled
from events.workload import CheckReported, PodsReclaimed, PreemptionGateReported, WorkloadChanged, WorkloadRequeued
from projections.explanation.about import objects_of
from projections.explanation.causes import Causes
from projections.explanation.elsewhere import about_clusters
from projections.log_position import LogPosition
from projections.workloads.timeline import describe

_NAMED = 3
"""How many pods a line names."""


class LifeMoment(msgspec.Struct, frozen=True, kw_only=True):
    """One moment in the life of an object."""

    at: Millis
    partition: str
    sequence: int
    object: str
    what: str
    detail: str = ""
    cause: str = ""
    trace: str = ""
    note: bool = False
    """Something about its pods, or that the cluster shows it now: seldom what is looked for."""


class Life:
    """The moments of one object, gathered while the log is folded in order."""

    def __init__(self, wanted: str) -> None:
        self.lines: list[LifeMoment] = []
        self.known: dict[str, None] = {}
        """Every object of the wanted kind that the log names, for as long as the wanted one is not among them."""
        self._wanted, self._kind = wanted, wanted.partition("/")[0]
        self._causes = Causes()
        self._aliases: dict[str, None] = {wanted: None}
        self._before: dict[str, AnyEvent] = {}
        self._cards: dict[str, str] = {}
        """By workload with a reservation, the cards that it was given."""
        self._told: _PodsTold | None = None
        """The pods that are being told their cards, while nothing else happens that is told of."""

    def fold(self, event: AnyEvent, position: LogPosition, *, cause: str = "", trace: str = "") -> None:
        """Take note of an event if it is about the object."""
        derived = self._causes.fold(event, position)
        objects = [*objects_of(event), *self._cards_of(event)]
        if not self.lines:
            self.known.update(dict.fromkeys(one for one in objects if one.startswith(f"{self._kind}/")))
        if self._kind == "job" and self._wanted in objects:
            self._aliases[objects[0]] = None
        if not any(one in self._aliases for one in objects):
            return
        self.known.clear()
        if isinstance(event, PodCardsAssigned) and self._told is not None and self._told.joins(event):
            line = self._told.line
            self.lines[line] = msgspec.structs.replace(self.lines[line], detail=self._told.detail)
            return
        note = isinstance(event, PodObserved | DecisionApplied) and self._kind != "pod"
        if isinstance(event, PodCardsAssigned) and self._kind != "pod":
            self._told = _PodsTold(event, len(self.lines))
        elif not note:
            self._told = None
        what, detail = self._describe(event, objects[0])
        about = "" if objects[0] in self._aliases else objects[0]
        self.lines.append(
            LifeMoment(
                at=position.at,
                partition=position.partition,
                sequence=position.sequence,
                object=about,
                what=what,
                detail=detail,
                cause=cause or derived,
                trace=trace,
                note=note,
            )
        )

    def _cards_of(self, event: AnyEvent) -> list[str]:
        """The cards of a reservation, when it begins and when it ends: only asked for the life of a card or a node."""
        if self._kind not in ("card", "node") or not isinstance(event, DevicesReserved | DevicesReleased):
            return []
        key = f"{event.workload} {event.reservation}"
        if isinstance(event, DevicesReserved):
            found = {f"node/{one.node}" for one in event.placements} | {
                f"card/{share.uuid}" for one in event.placements for each in one.containers for share in each
            }
            self._cards[key] = " ".join(sorted(found))
        return self._cards.get(key, "").split()

    def _describe(self, event: AnyEvent, about: str) -> tuple[str, str]:
        if isinstance(event, PodCardsAssigned):
            place = f"place {event.index} of {event.pod_set}"
            return "cards told", place if self._told is None else self._told.detail
        described = describe(event) or _about_checks(event) or about_clusters(event) or _other(event)
        if described is not None:
            return described
        before, self._before[about + type(event).__name__] = self._before.get(about + type(event).__name__), event
        if before is None:
            return type(event).__name__, ""
        return f"{type(event).__name__} anew", ", ".join(field_changes(before, event))


class _PodsTold:
    """Pods of one pod set that are told their cards one after the other: hundreds of them are one line."""

    def __init__(self, first: PodCardsAssigned, line: int) -> None:
        self.line = line
        self._set = (first.workload, first.reservation, first.pod_set)
        self._pods = [first.pod]

    def joins(self, event: PodCardsAssigned) -> bool:
        """Whether one more pod is of these; then it is counted among them."""
        if (event.workload, event.reservation, event.pod_set) != self._set:
            return False
        self._pods.append(event.pod)
        return True

    @property
    def detail(self) -> str:
        """How many they are, and some of their names."""
        more = f" and {len(self._pods) - _NAMED} more" if len(self._pods) > _NAMED else ""
        return f"{len(self._pods)} pod(s) of {self._set[2]}: {', '.join(self._pods[:_NAMED])}{more}"


def _other(event: AnyEvent) -> tuple[str, str] | None:  # noqa: PLR0911 - one case per event
    match event:
        case ObjectRemoved():
            return "removed", ""
        case ObjectRefused():
            return "can't be understood", "; ".join(f"{one.field}: {one.message}" for one in event.problems)
        case PreemptionRefused():
            return "room refused", f"{event.reason}: {event.message}"
        case RoomClaimed():
            return "room kept", ", ".join(f"{one.amount} {one.resource} of {one.flavor}" for one in event.rooms)
        case PreemptionWasted():
            return "preempted in vain", event.reason
        case WorkloadRequeued():
            return ("may queue again" if event.allowed else "must wait"), f"{event.reason}: {event.message}"
        case PodsReclaimed():
            return "pods done", ", ".join(f"{count} of {name}" for name, count in sorted(event.counts.items()))
        case WorkloadChanged():
            return "changed", f"queue {event.spec.queue}, priority {event.spec.priority}"
        case _:
            return None


def _about_checks(event: AnyEvent) -> tuple[str, str] | None:
    match event:
        case PreemptionGateReported():
            return "may preempt", event.gate.name
        case CheckReported():
            return "check reported", f"{event.check.name} is {event.check.state}"
        case CheckSettled() | RemoteCheckSettled():
            words = f": {event.check.message}" if event.check.message else ""
            return "check settled", f"{event.check.name} is {event.check.state}{words}"
        case ProvisioningOrdered():
            return "nodes asked for", f"{event.request} for {sum(one.count for one in event.pod_sets)} pod(s)"
        case ProvisioningRequestObserved():
            answers = [f"{kind} ({one.message})" for kind, one in sorted(event.answers.items()) if one.true]
            return "autoscaler", f"{event.name}: {', '.join(answers) or 'no answer yet'}"
        case ProvisioningRejected():
            return "nodes not asked for", event.message
        case ProvisioningDropped():
            return "nodes not asked for", f"{event.check} is not active, or not needed"
        case _:
            return None


def field_changes(before: AnyEvent, after: AnyEvent) -> list[str]:
    """The fields in which two sights of an object differ, down to the values that changed."""
    found: list[str] = []
    _compare("", msgspec.to_builtins(before), msgspec.to_builtins(after), found)
    return found


def _compare(path: str, left: Any, right: Any, found: list[str]) -> None:
    if left == right:
        return
    if is_object(left) and is_object(right):
        for name in sorted({*left, *right}):
            _compare(f"{path}.{name}" if path else str(name), left.get(name), right.get(name), found)
    elif is_array(left) and is_array(right) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            _compare(f"{path}[{_name(one, index)}]", one, other, found)
    else:
        found.append(f"{path} {_short(left)} → {_short(right)}")


def _name(one: Any, index: int) -> str:
    named = (one.get("flavor") or one.get("resource") or one.get("name")) if is_object(one) else None
    return str(named or index)


def _short(value: Any) -> str:
    return "nothing" if value is None else str(value)
