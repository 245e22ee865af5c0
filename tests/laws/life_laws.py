"""What holds of a random life at every commit of it: quota, cards and places are given once, and nobody is set aside."""

from collections import Counter
from collections.abc import Iterator, Sequence

from events.catalogue import AnyEvent
from events.codec import decode_sighting
from events.setting_aside import SetAside
from events.subjects import CONTROL, FACTS
from events.workload import DecidedElsewhere
from ops.queries.replay import fold_up
from ops.sandbox.simulate.claim_laws import ClaimCharges
from ops.sandbox.simulate.laws import heard
from ops.sandbox.simulate.partition_laws import CardLaws, PartitionLaws
from ops.sandbox.simulate.place_laws import PlaceLaws
from projections.log_position import LogPosition
from projections.partitions.homes import is_divided
from projections.quota.charge_quota import charged_amounts
from projections.workloads.variants import variants_of
from projections.world import World
from services.runtime.partition.fold import PartitionFold
from tests.laws.many_hosts import CARDS, Log


def broken_laws(log: Log, *, places: bool) -> list[str]:
    """Of all laws those that the life broke; with `places` also those of places, where topology and labels stay as they are."""
    partitions = [name for name in log if name not in (CONTROL, FACTS)]
    broken = [what for name in partitions for what in _broken_on(name, log, places=places)]
    trees = [fold_up(name, log) for name in partitions if name != CARDS]
    return [*broken, *_broken_at_rest(trees, _elsewhere(log))]


def _broken_at_rest(trees: Sequence[PartitionFold], elsewhere: frozenset[str]) -> Iterator[str]:
    """What holds among the partitions of trees once nobody has anything to say any more."""
    homes: dict[str, str] = {}
    for fold in (one for one in trees if is_divided(one.world)):
        for key in sorted(fold.world.workloads):
            if homes.setdefault(key, fold.partition) != fold.partition:
                yield f"{key} is decided in {homes[key]} and in {fold.partition}"
        for key in sorted(fold.world.holding):
            if {*fold.world.holding[key]} - elsewhere and fold.world.homes.get(key, fold.partition) != fold.partition:
                yield f"{fold.partition} has somebody hold quota of {key}, which is decided in {fold.world.homes[key]}"
    yield from heard(trees)


def _broken_on(partition: str, log: Log, *, places: bool) -> list[str]:
    found: list[str] = []
    fold = PartitionFold(partition)
    books = CardLaws(fold.world) if partition == CARDS else PartitionLaws(fold.world, _elsewhere(log))
    laws = [books, ClaimCharges(fold.world), *((PlaceLaws(fold.world),) if places else ())]

    def hear(event: AnyEvent, position: LogPosition) -> None:
        if isinstance(event, SetAside):
            found.append(f"{position.partition}/{position.sequence} sets aside: {event}")
        for one in laws:
            one.hear(event, position)

    def settled(fold: PartitionFold) -> None:
        wrong = (*wrong_books(fold.world), *wrong_sums(fold.world), *wrong_variants(fold.world))
        found.extend(f"{fold.partition}/{fold.base} {what}" for what in wrong)

    fold_up(partition, log, start=fold, listener=hear, settled=None if partition == CARDS else settled)
    found.extend(f"{partition} leaves out what {one.author} says: {one.detail}" for one in fold.world.amiss.values())
    return [*found, *(what for one in laws for what in one.broken)]


def _elsewhere(log: Log) -> frozenset[str]:
    """Workloads of which the object showed what another manager has decided: they may stand so without a decision of this log."""
    facts = (decode_sighting(one.data).fact for one in log[FACTS])
    return frozenset(one.workload for one in facts if isinstance(one, DecidedElsewhere))


def wrong_books(world: World) -> Iterator[str]:
    """In what the quota that is used is not that of those who hold it, and who waits though he holds some."""
    charged: dict[str, Counter[tuple[str, str]]] = {}
    for key, one in sorted(world.workloads.items()):
        held = [name for name, holders in world.holding.items() if key in holders]
        if one.admission is None or one.finished or one.in_cluster.discarded:
            if held:
                yield f"has {key} hold quota of {held}, which has none"
            continue
        if held != [one.admission.cluster_queue]:
            yield f"has {key} hold quota of {held}, and it was reserved in {one.admission.cluster_queue}"
        if one.line:
            yield f"has {key} wait beside {one.line} though it holds quota"
        amounts = charged_amounts(one.admission.assignments, one.reclaimable)
        charged.setdefault(one.admission.cluster_queue, Counter()).update(amounts)
    for name, node in sorted(world.quota.queues.items()):
        used = {each: amount for each, amount in world.quota.usage_by_name(node).items() if amount}
        wanted = {each: amount for each, amount in charged.get(name, Counter()).items() if amount}
        if used != wanted:
            yield f"reckons that {name} uses {used}, and those who hold quota there have {wanted}"
        for each in list(world.lines.of(name).waiting):
            one = world.workloads.get(each)
            if one is None or one.reserved or one.finished:
                yield f"has {each} in the line of {name}, which does not wait"


def wrong_sums(world: World) -> Iterator[str]:
    """Of whom budgets and past usage count what is used, though they hold no quota, and whom a budget misses."""
    holders = {key: name for name, those in world.holding.items() for key in those}
    for key in sorted({*world.budgeted, *world.entered} - holders.keys()):
        yield f"counts what {key} uses, which holds no quota"
    for key, queue in sorted(holders.items()):
        scopes = (f"ClusterQueue/{queue}", f"Namespace/{key.partition('/')[0]}")
        if any(one in world.budgets for one in scopes) and key not in world.budgeted:
            yield f"counts nothing of {key} in {scopes}"


def wrong_variants(world: World) -> Iterator[str]:
    """Jobs that run as several variants at once, and such as wait or hold quota beside their variants."""
    for key in sorted(world.variants):
        live = variants_of(world, key)
        admitted = [one.key for one in live if one.admitted]
        if len(admitted) > 1:
            yield f"has one job run as {admitted}"
        parent = world.workloads.get(key)
        if live and parent is None:
            yield f"has variants of {key}, which is gone"
        elif live and parent is not None and (parent.reserved or parent.line):
            yield f"has {key} wait or hold quota beside its variants"
