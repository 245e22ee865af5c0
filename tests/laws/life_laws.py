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
        wrong = (
            *wrong_books(fold.world),
            *wrong_sums(fold.world),
            *wrong_tables(fold.world),
            *wrong_variants(fold.world),
        )
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
        amounts = charged_amounts(one.admission.assignments, one.admission.given_back)
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
    for scope, budget in sorted(world.budgets.items()):
        counted = sum((Counter(one.usage) for one in world.budgeted.values() if scope in one.scopes), Counter[str]())
        if +Counter(budget.running) != +counted:
            yield f"has {scope} count {budget.running}, and those who hold quota there use {dict(counted)}"
    for name, ledger in sorted(world.ledgers.items()):
        entered = [one.running for one in world.entered.values() if one.local_queue == name]
        if +Counter(ledger.running) != +sum(map(Counter, entered), Counter[str]()):
            yield f"has {name} use {ledger.running}, and those who were admitted through it use {entered}"


def wrong_tables(world: World) -> Iterator[str]:
    """What is kept of workloads that are gone, or do not stand so any more."""
    tables = {
        "requests": world.requests,
        "answered": world.answered,
        "claims": world.claims,
        "dispatches": world.dispatches,
        "second_passes": world.second_passes,
        "rejected": world.rejected,
        "variants": dict.fromkeys(key for those in world.variants.values() for key in those),
        "chains": dict.fromkeys(key for those in world.chains.values() for key in those),
        "parts": dict.fromkeys(key for those in world.parts.values() for key in those),
        "by_local_queue": dict.fromkeys(key for those in world.by_local_queue.values() for key in those),
    }
    for name, table in tables.items():
        if gone := sorted(table.keys() - world.workloads.keys()):
            yield f"keeps {gone} in {name}, which are gone"
    for name in ("requests", "answered", "claims"):
        if over := [key for key in sorted(tables[name]) if key in world.workloads and world.workloads[key].reserved]:
            yield f"keeps {over} in {name}, which hold quota"
    for name in world.lines.names():
        line = world.lines.of(name)
        for key in sorted({*line.waiting, *line.parked, *line.held.values()}):
            if key not in world.workloads or world.workloads[key].line != name:
                yield f"has {key} in the line of {name}, which is not there"


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
