"""How long each workload held which card: the intervals, and what each tenant used, in exact integers."""

import msgspec

from events.catalogue import AnyEvent
from events.device import DevicesReleased, DevicesReserved, PodPlacement
from events.event import Millis
from projections.devices.card_use import effective_use
from projections.log_position import LogPosition


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A workload's share of one card, from inclusive to exclusive; `until` is None while it holds on."""

    card: str
    node: str
    workload: str
    memory: int
    cores: int
    since: Millis
    until: Millis | None = None


class TenantUse(msgspec.Struct, frozen=True, kw_only=True):
    """What a tenant (a namespace) used: MiB·ms, percent·ms of cores, card·ms (any share of a card counts it once)."""

    memory: int = 0
    cores: int = 0
    cards: int = 0


class CardTime:
    """Intervals of card use, folded from the accountant's decisions."""

    def __init__(self) -> None:
        self.closed: list[Interval] = []
        self._open: dict[str, list[Interval]] = {}

    def fold(self, event: AnyEvent, position: LogPosition) -> None:
        """Open intervals at a reservation, close them at its release."""
        match event:
            case DevicesReserved():
                # Whoever is given others, because a node has failed, had the first until then.
                self._close(event.workload, event.reservation, position.at)
                self._open[f"{event.workload}@{event.reservation}"] = _intervals(
                    event.workload, event.placements, position.at
                )
            case DevicesReleased():
                self._close(event.workload, event.reservation, position.at)
            case _:
                pass

    def _close(self, workload: str, reservation: int, at: Millis) -> None:
        for interval in self._open.pop(f"{workload}@{reservation}", ()):
            self.closed.append(msgspec.structs.replace(interval, until=at))

    def intervals(self) -> list[Interval]:
        """All intervals, by card and time; open ones last."""
        still = [interval for intervals in self._open.values() for interval in intervals]
        return sorted((*self.closed, *still), key=lambda one: (one.node, one.card, one.since, one.workload))

    def use(self, now: Millis) -> dict[str, TenantUse]:
        """What each namespace has used until now."""
        found: dict[str, TenantUse] = {}
        for one in self.intervals():
            length = (now if one.until is None else one.until) - one.since
            tenant = one.workload.partition("/")[0]
            old = found.get(tenant, TenantUse())
            found[tenant] = TenantUse(
                memory=old.memory + one.memory * length,
                cores=old.cores + one.cores * length,
                cards=old.cards + length,
            )
        return dict(sorted(found.items()))


def _intervals(workload: str, placements: tuple[PodPlacement, ...], at: Millis) -> list[Interval]:
    return [
        Interval(card=uuid, node=placement.node, workload=workload, memory=use.memory, cores=use.cores, since=at)
        for placement in placements
        for uuid, use in effective_use(placement.containers, placement.init, sidecars=placement.sidecars).items()
    ]
