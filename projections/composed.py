"""One world out of those of all partitions of trees at one moment: what questions about the whole log are asked of.

Each workload, with its quota, its place in line and its cards, is taken from the partition that decides about it; what all
partitions fold alike is taken once. Nobody decides on such a world.

Rule: docs/decisions/0084-questions-about-all-partitions.md
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from projections.budgets.budget_usage import NOTHING_USED, BudgetUsage, settled
from projections.budgets.scopes import whole_of
from projections.fair_sharing.ledger import UsageRecord
from projections.object_versions import SavedVersion
from projections.partitions.homes import FIRST
from projections.snapshot import DividedTables, LineSnapshot, Tables, tables_of, world_of
from projections.world import World


def composed(worlds: Sequence[World]) -> World:
    """The world of a whole log; one world is that already. It shares nothing with the others that is ever changed."""
    if len(worlds) == 1:
        return worlds[0]
    parts = {world.partition: tables_of(world) for world in sorted(worlds, key=lambda one: one.partition)}
    found = next(iter(parts.values()))
    by_partition: dict[str, object] = {
        "refused": _still_refused(parts),
        "ledgers": _ledgers(parts, worlds[0]),
        "budgets": _budgets(parts, worlds[0].homes),
        "lines": _lines(parts),
        "versions": _newest(parts),
        "holding": _concatenated([part.holding for part in parts.values()]),
    }
    others = {
        name: {key: one for part in parts.values() for key, one in getattr(part, name).items()}
        for name in Tables.__struct_fields__
        if name not in by_partition and isinstance(getattr(found, name), dict)
    }
    divided = DividedTables(
        partition_map=worlds[0].partition_map,
        homes=worlds[0].homes,
        namespace_homes=worlds[0].namespace_homes,
        forks=worlds[0].forks or msgspec.UNSET,
        elsewhere={},
        unplaced={},
    )
    return world_of(msgspec.structs.replace(found, **others, **by_partition, divided=divided))


def _ledgers(parts: Mapping[str, Tables], world: World) -> dict[str, UsageRecord]:
    """What local queues have used: all partitions begin with what Kueue had measured, one of them counts on."""
    found = {key: one for part in parts.values() for key, one in part.ledgers.items()}
    for key in found:
        queue = world.local_queues.get(key)
        home = parts.get(world.homes.get(queue.cluster_queue, FIRST)) if queue is not None else None
        if home is not None and key in home.ledgers:
            found[key] = home.ledgers[key]
    return found


def _newest(parts: Mapping[str, Tables]) -> dict[str, SavedVersion]:
    """The newest version on record of each object: what is told of a job, only the partition that decides about it has heard."""
    found: dict[str, SavedVersion] = {}
    for part in parts.values():
        for key, one in part.versions.items():
            other = found.get(key)
            if other is None or (other.version, other.gone, other.context) < (one.version, one.gone, one.context):
                found[key] = one
    return found


def _still_refused(parts: Mapping[str, Tables]) -> dict[str, object]:
    """What every partition holds for refused: the one that decides about a job has forgotten that once it is understood."""
    first, *others = parts.values()
    return {key: one for key, one in first.refused.items() if all(key in other.refused for other in others)}


def _budgets(parts: Mapping[str, Tables], homes: Mapping[str, str]) -> dict[str, BudgetUsage]:
    """What is counted in budgets: those of a queue where it is decided; those of a namespace in all partitions, added up."""
    found: dict[str, BudgetUsage] = {}
    for scope in sorted({scope for part in parts.values() for scope in part.budgets}):
        kind, _, name = whole_of(scope).partition("/")
        home = homes.get(name, FIRST) if kind == "ClusterQueue" else ""
        if home in parts:
            found.update({scope: parts[home].budgets[scope]} if scope in parts[home].budgets else {})
        else:
            found[scope] = _added_up([part.budgets[scope] for part in parts.values() if scope in part.budgets], parts)
    return found


def _added_up(shares: Sequence[BudgetUsage], parts: Collection[str]) -> BudgetUsage:
    """What partitions have counted of one budget, all of it, and what they have heard of those alone that are not among these parts.

    Of what was left over in earlier periods the least is meant.
    """
    at = max(one.at for one in shares)
    now = [settled(one, at) for one in shares]
    least = min(now, key=lambda one: sum(one.carried.values()))
    return msgspec.structs.replace(
        least,
        amounts=_sums([one.amounts for one in now]),
        running=_sums([one.running for one in now]),
        heard={name: use for one in now for name, use in sorted(one.heard.items()) if name not in parts},
        said=NOTHING_USED,
    )


def _sums(rows: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {name: sum(row.get(name, 0) for row in rows) for name in sorted({name for row in rows for name in row})}


def _lines(parts: Mapping[str, Tables]) -> dict[str, LineSnapshot]:
    """The pending workloads of each queue: one partition decides about it, another may have parked some that ask for it."""
    found: dict[str, LineSnapshot] = {}
    for part in parts.values():
        for name, line in part.lines.items():
            other = found.get(name)
            found[name] = line if other is None else _both(other, line)
    return found


def _both(one: LineSnapshot, other: LineSnapshot) -> LineSnapshot:
    return LineSnapshot(
        waiting={**one.waiting, **other.waiting},
        parked={**one.parked, **other.parked},
        refused={**one.refused, **other.refused},
        stale=tuple(sorted({*one.stale, *other.stale})),
        held={**one.held, **other.held},
        scan=one.scan or other.scan,
        tried=one.tried or other.tried,
    )


def _concatenated(tables: Sequence[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for table in tables:
        for key, values in table.items():
            found[key] = (*found.get(key, ()), *values)
    return found
