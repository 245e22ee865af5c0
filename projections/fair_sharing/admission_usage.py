"""Keeping the ledgers of local queues, folded from the log (docs/rules/fair-sharing.md#usage-penalty).

Between two events usage is constant, so the ledger is drawn towards it in one step, however long it was. It therefore needs no
sampling, and says the same whenever it is asked. Penalties are kept like everything else; Kueue loses them with its memory.
"""

from collections.abc import Mapping, Sequence

from events.catalogue import AnyEvent
from events.event import Millis
from events.quota import ClusterQueueObserved, LocalQueueObserved
from events.settings import AdmissionFairSharing, SettingsObserved
from events.workload import QuotaReleased
from projections.fair_sharing.decay import BITS, entry_part
from projections.fair_sharing.ledger import Entered, UsageRecord, settled
from projections.fair_sharing.state import LedgerState
from projections.fair_sharing.usage_mode import by_usage
from projections.quota.state import QuotaState
from projections.trail import Trail
from projections.workloads.lifecycle import Workload


def keep_ledgers(world: LedgerState, event: AnyEvent, at: Millis) -> Sequence[str]:
    """Bring the ledgers in line with what an event has changed; where nothing is counted this costs nothing.

    Returns the cluster queues that may order their pending workloads in another way from now on.
    """
    if isinstance(event, LocalQueueObserved):
        adopt(world.ledgers, world.trail, event, at)
    if world.settings.admission_fair_sharing is None and not world.entered:
        return ()
    if isinstance(event, ClusterQueueObserved | SettingsObserved):
        return enroll(world, event, at)
    key = getattr(event, "workload", None)
    if isinstance(key, str):
        follow(world, key, at, released=isinstance(event, QuotaReleased))
    return ()


def follow(world: LedgerState, key: str, at: Millis, *, released: bool = False) -> None:
    """Bring what is counted for a workload in line with what it holds, after something happened to it.

    `released` says that its quota was taken from it: what it had cost to get that stays used, if it waits for quota again.
    """
    rule, entered = world.settings.admission_fair_sharing, world.entered.get(key)
    if rule is None and entered is None:
        return
    rule = rule or AdmissionFairSharing(half_life=0)
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


def adopt(ledgers: dict[str, UsageRecord], trail: Trail, queue: LocalQueueObserved, at: Millis) -> None:
    """Start the ledger of a queue that is first seen with what Kueue had measured."""
    key = f"{queue.namespace}/{queue.name}"
    if queue.consumed and key not in ledgers:
        consumed = {resource: amount << BITS for resource, amount in sorted(queue.consumed.items())}
        trail.put(ledgers, key, UsageRecord(at=min(queue.consumed_at or at, at), consumed=consumed))


def settle_all(settings: SettingsObserved, ledgers: dict[str, UsageRecord], trail: Trail, at: Millis) -> None:
    """Bring all ledgers up to a time: from then on other settings may hold."""
    rule = settings.admission_fair_sharing
    if rule is not None:
        for key, ledger in sorted(ledgers.items()):
            trail.put(ledgers, key, settled(ledger, rule, at))


def enroll(world: LedgerState, changed: ClusterQueueObserved | SettingsObserved, at: Millis) -> Sequence[str]:
    """Begin or end counting in the queues that a change is about, and name them."""
    names = [changed.name] if isinstance(changed, ClusterQueueObserved) else sorted(world.cluster_queues)
    for name in names:
        for key in list(world.holders(name)):
            follow(world, key, at)
    return names


def _standing(
    world: QuotaState, workload: Workload | None, entered: Entered | None, rule: AdmissionFairSharing
) -> Entered | None:
    """What should be counted for a workload as it stands; it counts in the local queue through which it was admitted."""
    if workload is None or workload.admission is None or not by_usage(world, workload.admission.cluster_queue):
        return None
    held = world.holders(workload.admission.cluster_queue).usage.get(workload.key)
    if held is None:
        return None
    usage: dict[str, int] = {}
    for column, amount in held.items():
        resource = world.quota.columns.names[column][1]
        usage[resource] = usage.get(resource, 0) + amount
    usage = dict(sorted(usage.items()))
    local_queue = entered.local_queue if entered is not None else workload.local_queue
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
