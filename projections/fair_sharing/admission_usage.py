"""Keeping the ledgers of local queues, folded from the log (docs/rules/fair-sharing.md#usage-penalty).

Between two events usage is constant, so the ledger is drawn towards it in one step, however long it was. It therefore needs no
sampling, and says the same whenever it is asked. Penalties are kept like everything else; Kueue loses them with its memory.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.event import Millis
from events.quota import ClusterQueueObserved, LocalQueueObserved
from events.settings import AdmissionFairSharing, SettingsObserved
from events.workload import QuotaReleased
from projections.fair_sharing.decay import BITS, entry_part
from projections.fair_sharing.ledger import Entered, UsageRecord, settled
from projections.fair_sharing.state import LedgerState
from projections.fair_sharing.usage_mode import counts_usage
from projections.quota.state import QuotaState
from projections.trail import Trail
from projections.workloads.lifecycle import Workload


def keep_ledgers(world: LedgerState, event: AnyEvent, at: Millis) -> Sequence[str]:
    """Bring the ledgers in line with what an event has changed; where nothing is counted this costs nothing.

    Returns the cluster queues that may order their pending workloads in another way from now on.
    """
    counts = counts_usage(world.settings)
    if not counts and not world.ledgers:
        return ()
    if isinstance(event, SettingsObserved):
        return enroll(world, at) if counts else forget_all(world)
    if isinstance(event, ClusterQueueObserved):
        return [event.name]
    if isinstance(event, LocalQueueObserved):
        begin(world, event, at)
    elif isinstance(event, ObjectRemoved) and event.kind == "LocalQueue":
        forget(world, f"{event.namespace}/{event.name}")
    key = getattr(event, "workload", None)
    if isinstance(key, str):
        follow(world, key, at, released=isinstance(event, QuotaReleased))
    return ()


def follow(world: LedgerState, key: str, at: Millis, *, released: bool = False) -> None:
    """Bring what is counted for a workload in line with what it holds, after something happened to it.

    `released` says that its quota was taken from it: what it had cost to get that stays used, if it waits for quota again.
    """
    rule, entered = world.settings.admission_fair_sharing, world.entered.get(key)
    if rule is None or not counts_usage(world.settings):
        return
    now = _standing(world, world.workloads.get(key), entered, rule)
    if now == entered:
        return
    if entered is not None:
        used = now.penalty is None if now is not None else released and _waits_again(world.workloads.get(key), entered)
        _leave(world.ledgers, world.trail, entered, rule, at, used=used)
        world.trail.drop(world.entered, key)
    if now is not None:
        _enter(world.ledgers, world.trail, now, rule, at)
        world.trail.put(world.entered, key, now)


def begin(world: LedgerState, queue: LocalQueueObserved, at: Millis) -> None:
    """Start the ledger of a queue that is first seen: with what Kueue had measured, or else with what runs in it."""
    key = f"{queue.namespace}/{queue.name}"
    if key in world.ledgers:
        return
    if not queue.consumed:
        _begin_with_what_runs(world, key, at)
        return
    measured = {resource: amount << BITS for resource, amount in sorted(queue.consumed.items())}
    world.trail.put(world.ledgers, key, UsageRecord(at=min(queue.consumed_at or at, at), consumed=measured))
    _enter_all(world, key, at)


def _begin_with_what_runs(world: LedgerState, key: str, at: Millis) -> None:
    world.trail.put(world.ledgers, key, UsageRecord(at=at))
    _enter_all(world, key, at)
    ledger = world.ledgers[key]
    if ledger.running:
        running = {resource: amount << BITS for resource, amount in ledger.running.items()}
        world.trail.put(world.ledgers, key, replace(ledger, consumed=running))


def _enter_all(world: LedgerState, local_queue: str, at: Millis) -> None:
    for workload in list(world.by_local_queue.get(local_queue, ())):
        follow(world, workload, at)


def forget(world: LedgerState, local_queue: str) -> None:
    """End the ledger of a queue that is gone: one of its name that comes later has used nothing of it."""
    for key in [key for key, one in world.entered.items() if one.local_queue == local_queue]:
        world.trail.drop(world.entered, key)
    world.trail.drop(world.ledgers, local_queue)


def settle_all(settings: SettingsObserved, ledgers: dict[str, UsageRecord], trail: Trail, at: Millis) -> None:
    """Bring all ledgers up to a time: from then on other settings may hold."""
    rule = settings.admission_fair_sharing
    if rule is not None:
        for key, ledger in sorted(ledgers.items()):
            trail.put(ledgers, key, settled(ledger, rule, at))


def enroll(world: LedgerState, at: Millis) -> Sequence[str]:
    """Count in all queues from now on, if that is new, and name them."""
    for key in sorted(world.local_queues):
        if key not in world.ledgers:
            _begin_with_what_runs(world, key, at)
    return sorted(world.cluster_queues)


def forget_all(world: LedgerState) -> Sequence[str]:
    """Count nothing any more, and name the queues that are ordered by nothing of it."""
    world.trail.clear(world.entered)
    world.trail.clear(world.ledgers)
    return sorted(world.cluster_queues)


def _standing(
    world: QuotaState, workload: Workload | None, entered: Entered | None, rule: AdmissionFairSharing
) -> Entered | None:
    """What should be counted for a workload as it stands; it counts in the local queue through which it was admitted."""
    if workload is None or workload.admission is None:
        return None
    local_queue = entered.local_queue if entered is not None else workload.local_queue
    if local_queue not in world.local_queues:
        return None
    held = world.holders(workload.admission.cluster_queue).usage.get(workload.key)
    if held is None:
        return None
    usage: dict[str, int] = {}
    for column, amount in held.items():
        resource = world.quota.columns.names[column][1]
        usage[resource] = usage.get(resource, 0) + amount
    usage = dict(sorted(usage.items()))
    if workload.admitted or (entered is not None and entered.penalty is None):
        return Entered(local_queue=local_queue, running=usage)
    if entered is not None:
        return entered
    part = entry_part(rule.sampling, rule.half_life)
    penalty = {resource: amount * part for resource, amount in usage.items()}
    return Entered(local_queue=local_queue, penalty=penalty)


def _waits_again(workload: Workload | None, entered: Entered) -> bool:
    if workload is None or workload.finished or not workload.spec.active:
        return False
    return workload.local_queue == entered.local_queue


def _leave(
    ledgers: dict[str, UsageRecord],
    trail: Trail,
    entered: Entered,
    rule: AdmissionFairSharing,
    at: Millis,
    *,
    used: bool,
) -> None:
    """Count a workload no longer as it was; where the reservation counts as `used`, its penalty becomes usage."""
    ledger = settled(ledgers[entered.local_queue], rule, at)
    penalty = entered.penalty or {}
    ledger = UsageRecord(
        at=ledger.at,
        consumed=_sum(ledger.consumed, penalty, 1) if used else ledger.consumed,
        penalties=_sum(ledger.penalties, penalty, -1),
        running=_sum(ledger.running, entered.running, -1),
    )
    trail.put(ledgers, entered.local_queue, ledger)


def _enter(
    ledgers: dict[str, UsageRecord], trail: Trail, entered: Entered, rule: AdmissionFairSharing, at: Millis
) -> None:
    ledger = settled(ledgers.get(entered.local_queue, UsageRecord(at=at)), rule, at)
    ledger = UsageRecord(
        at=ledger.at,
        consumed=ledger.consumed,
        penalties=_sum(ledger.penalties, entered.penalty or {}, 1),
        running=_sum(ledger.running, entered.running, 1),
    )
    trail.put(ledgers, entered.local_queue, ledger)


def _sum(left: Mapping[str, int], right: Mapping[str, int], sign: int) -> dict[str, int]:
    sums = {name: left.get(name, 0) + sign * right.get(name, 0) for name in sorted({*left, *right})}
    return {name: amount for name, amount in sums.items() if amount}
