"""A world at one moment, as a value that can be stored: a shortcut past the fold; the log alone stays the truth.

Only what cannot be derived is kept; indexes and usage are laid anew. The state hash says whether the world that comes out
is the one that went in.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import msgspec

from events.admission import PreemptionRequested
from events.amount import Requests
from events.budget import BudgetUsePassedOn
from events.claims import ResourceClaimObserved, ResourceSliceObserved
from events.control import ObjectRefused
from events.device import (
    CardQuotaObserved,
    DevicesRegistered,
    NodeLockObserved,
    NodeObserved,
    PodCardsAssigned,
    PodObserved,
)
from events.device_config import DeviceConfigObserved, NodeConfigsObserved
from events.event import Millis
from events.multikueue import QuotaAutomationSettled, RemoteQueuesObserved, RemoteWorkloadObserved
from events.partition_map import PartitionForked, PartitionMapObserved
from events.pod import PodAccounted, PodEndForced
from events.preemption import RoomClaimed
from events.provisioning import ProvisioningConfigObserved, ProvisioningRequestObserved
from events.settings import SettingsObserved
from events.workload_facts import WorkloadFact
from projections.amiss import Amiss
from projections.budgets.budget_usage import BudgetUsage, CountedWorkload
from projections.checks.dispatch import Dispatch
from projections.checks.dispatch_due import note_due
from projections.configuration import TABLES, ConfigurationTables
from projections.devices.holdings.card_care import ReportedDrift, Suspect
from projections.devices.holdings.card_holdings import Holding
from projections.devices.registration.card_health import CardHealth
from projections.fair_sharing.ledger import Entered, UsageRecord
from projections.json_in_pieces import fields_as_json, rows_as_json
from projections.limit_ranges import put_limit_range
from projections.object_versions import SavedVersion
from projections.preemption.protection_by_time import begin_protection
from projections.queues.order import place_of
from projections.queues.pending_queues import PlaceInLine, Scan, ScanProgress
from projections.quota.charge_quota import charge_quota
from projections.set_aside.records import Aside
from projections.sorted_keys import SortedKeys
from projections.state_hash import scan_of, stale_classes, tried_of
from projections.topology.placement.node_failures import NOT_READY_FOR
from projections.topology.pods.pods_of_workloads import note_pod
from projections.workloads.saved_workload import SavedWorkload, as_held, as_saved
from projections.workloads.terminating import Terminating
from projections.world import DEFAULT_SETTINGS, World


class LineSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The pending workloads of one cluster queue: in line, and parked beside it."""

    waiting: dict[str, tuple[Any, ...]]
    """Their orders: the fields of `PlaceInLine` up to the key, or to the local queue."""
    parked: dict[str, str]
    refused: dict[str, str]
    """Workloads that are parked since they were refused, and their class."""
    stale: tuple[str, ...]
    """Classes that may be tried again."""
    held: dict[str, str]
    scan: tuple[str, bool, bool, bool] | None = None
    """The workload that tries its flavors one by one, as `scan_of` gives it."""
    tried: tuple[ScanProgress, ...] = ()
    """How far it had come each time, as `tried_of` gives it."""


class CareTables(msgspec.Struct, frozen=True, kw_only=True):
    """The tables of `CardCare`: state of cards besides who holds them."""

    health: dict[str, CardHealth]
    silent: dict[str, Millis]
    lost: dict[str, Millis]
    suspects: dict[str, Suspect]
    stale: dict[str, Suspect]
    told: dict[str, tuple[ReportedDrift, ...]]
    short: dict[str, tuple[int, int]]
    quotas: dict[str, tuple[CardQuotaObserved, ...]] = {}
    device_configs: dict[str, DeviceConfigObserved] = {}
    node_configs: dict[str, NodeConfigsObserved] = {}


class DividedTables(msgspec.Struct, frozen=True, kw_only=True):
    """The tables of a log that has several partitions."""

    partition_map: dict[str, PartitionMapObserved]
    homes: dict[str, str]
    elsewhere: dict[str, None]
    unplaced: dict[str, tuple[WorkloadFact, ...]]
    namespace_homes: dict[str, str] = {}
    forks: dict[str, PartitionForked] | msgspec.UnsetType = msgspec.UNSET
    """Left out where no partition is a fork."""


class Tables(ConfigurationTables, frozen=True, kw_only=True):
    """The tables of a world that cannot be derived from others."""

    sole: dict[str, SettingsObserved]
    nodes: dict[str, NodeObserved]
    node_usage: dict[str, Requests] = {}
    registered: dict[str, DevicesRegistered]
    node_locks: dict[str, NodeLockObserved] = {}
    resource_slices: dict[str, ResourceSliceObserved] = {}
    resource_claims: dict[str, ResourceClaimObserved] = {}
    pods: dict[str, PodObserved]
    pod_cards: dict[str, tuple[PodCardsAssigned, ...]] = {}
    refused: dict[str, ObjectRefused]
    accounted: dict[str, PodAccounted] = {}
    terminating: dict[str, Terminating] = {}
    rejected: dict[str, int] = {}
    forced_pods: dict[str, PodEndForced] = {}
    workloads: dict[str, SavedWorkload]
    requests: dict[str, PreemptionRequested]
    answered: dict[str, int] = {}
    claims: dict[str, RoomClaimed]
    epochs: dict[str, int]
    aside: dict[str, Aside] = {}
    amiss: dict[str, Amiss] = {}
    ledgers: dict[str, UsageRecord] = {}
    entered: dict[str, Entered] = {}
    budgets: dict[str, BudgetUsage] = {}
    budgeted: dict[str, CountedWorkload] = {}
    budget_news: dict[str, BudgetUsePassedOn] = {}
    provisioning_configs: dict[str, ProvisioningConfigObserved] = {}
    provisioning_requests: dict[str, ProvisioningRequestObserved] = {}
    dispatches: dict[str, Dispatch] = {}
    remotes: dict[str, dict[str, RemoteWorkloadObserved]] = {}
    left_behind: dict[str, dict[str, str]] = {}
    remote_queues: dict[str, RemoteQueuesObserved] = {}
    quota_automation: dict[str, QuotaAutomationSettled] = {}
    versions: dict[str, SavedVersion] = {}
    version_epoch: int = 0
    lines: dict[str, LineSnapshot]
    holding: dict[str, tuple[str, ...]]
    holdings: dict[str, Holding]
    care: CareTables
    divided: DividedTables | msgspec.UnsetType = msgspec.UNSET
    """Left out where there is one partition: a saved world is then, byte for byte, what it was before there could be more."""


_PLAIN = (
    "sole",
    *(name for name in TABLES.values() if name != "cluster_queues"),
    "nodes",
    "node_usage",
    "registered",
    "node_locks",
    "resource_slices",
    "resource_claims",
    "pods",
    "pod_cards",
    "refused",
    "accounted",
    "terminating",
    "rejected",
    "forced_pods",
    "requests",
    "answered",
    "claims",
    "epochs",
    "aside",
    "amiss",
    "ledgers",
    "entered",
    "budgets",
    "budgeted",
    "budget_news",
    "provisioning_configs",
    "provisioning_requests",
    "dispatches",
    "remotes",
    "left_behind",
    "remote_queues",
    "quota_automation",
)


_workload = msgspec.json.Decoder(SavedWorkload)
_NOTHING = msgspec.Raw(b"{}")


def tables_of(world: World) -> Tables:
    """The tables of a world. Nothing may be folded ahead of its last commit."""
    return msgspec.structs.replace(
        _tables_but_long_ones(world),
        versions=world.versions.saved,
        workloads={key: as_saved(one) for key, one in world.workloads.items()},
        lines={name: _line(world, name) for name in _names_of_lines(world)},
    )


def tables_as_json(world: World) -> Iterator[bytes]:
    """`tables_of` as JSON in pieces: no table that grows with the workloads is made or encoded as a whole."""
    return fields_as_json(
        _tables_but_long_ones(world),
        {
            "versions": rows_as_json(world.versions.known),  # The bytes of these are those of `SavedVersion`.
            "workloads": rows_as_json(world.workloads, as_saved),
            "lines": rows_as_json({name: name for name in _names_of_lines(world)}, partial(_line, world)),
        },
    )


def _names_of_lines(world: World) -> list[str]:
    return [name for name in world.lines.names() if not world.lines.of(name).empty]


def _line(world: World, name: str) -> LineSnapshot:
    line = world.lines.of(name)
    return LineSnapshot(
        waiting={key: place.order for key, place in line.waiting.items()},
        parked=line.parked,
        refused={key: place.kind for key, place in line.refused.items() if place.kind},
        stale=tuple(stale_classes(world, name)),
        held=dict(line.held),
        scan=scan_of(world, name),
        tried=tried_of(world, name),
    )


def _tables_but_long_ones(world: World) -> Tables:
    """The tables but for those of which each row is made to be saved: these are empty."""
    return Tables(
        **{name: dict(getattr(world, name)) for name in _PLAIN},
        cluster_queues=dict(world.cluster_queues),
        version_epoch=world.versions.epoch,
        workloads={},
        lines={},
        holding={name: tuple(keys) for name, keys in world.holding.items() if keys},
        holdings=dict(world.cards.holdings),
        care=CareTables(**{name: dict(getattr(world.cards.care, name)) for name in CareTables.__struct_fields__}),
        divided=_divided(world) if world.partition_map else msgspec.UNSET,
    )


def _divided(world: World) -> DividedTables:
    found = {name: dict(getattr(world, name)) for name in DividedTables.__struct_fields__}
    return DividedTables(**{name: table for name, table in found.items() if table or name != "forks"})


def world_of(tables: Tables) -> World:
    """The world that these tables were taken from."""
    return _world_of(tables, tables.workloads.values())


def world_from_json(tables: bytes | msgspec.Raw) -> World:
    """The world that these tables were taken from, encoded as `Tables`. Raises `MsgspecError`.

    Workloads are read one at a time: what most have in common they hold once for all only when they are held, and until then each has its own.
    """
    fields = msgspec.json.decode(tables, type=dict[str, msgspec.Raw])
    rows = msgspec.json.decode(fields.get("workloads", _NOTHING), type=dict[str, msgspec.Raw])
    short = msgspec.json.decode(msgspec.json.encode({**fields, "workloads": _NOTHING}), type=Tables)
    return _world_of(short, map(_workload.decode, rows.values()))


def _world_of(tables: Tables, workloads: Iterable[SavedWorkload]) -> World:  # noqa: C901 - one table after the other
    world = World()
    for name in _PLAIN:
        getattr(world, name).update(getattr(tables, name))
    if tables.divided is not msgspec.UNSET:
        for name in DividedTables.__struct_fields__:
            getattr(world, name).update(getattr(tables.divided, name) or {})
    world.versions.restore(tables.versions, tables.version_epoch)
    world.use(tables.sole.get("settings", DEFAULT_SETTINGS))
    for cohort in tables.cohorts.values():
        world.quota.set_cohort(cohort)
    for name, queue in tables.cluster_queues.items():
        world.cluster_queues[name] = queue
        world.quota.set_cluster_queue(queue)
    for key, local in world.local_queues.items():
        world.local_queues_of.setdefault(local.cluster_queue, {})[key] = None
    for limits in world.limit_ranges.values():
        put_limit_range(world.limits, world.trail, limits.namespace, limits.name, limits)
    for key, request in world.provisioning_requests.items():
        world.provisioning_of.setdefault(request.workload, {})[key] = None
    for registered in tables.registered.values():
        world.cards.register(registered)
    word = dict[str, str]().setdefault
    for one in workloads:
        workload = as_held(one, word)
        world.put_workload(workload)
        world.by_local_queue.setdefault(workload.local_queue, SortedKeys()).add(world.trail, workload.key)
    for keys in tables.holding.values():
        for key in keys:
            holder = world.workloads[key]
            charge_quota(world.quota, world.holding, world.trail, holder)
            world.domains.charge(key, holder.admission.assignments if holder.admission is not None else ())
            begin_protection(world, world.workloads[key])
    for scope, spent in world.budgets.items():
        world.put_budget(scope, spent)
    for key, dispatch in world.dispatches.items():
        note_due(world, key, dispatch)
    for node in world.nodes.values():
        if node.not_ready_since:
            world.review_node_at(node.not_ready_since + NOT_READY_FOR, node.name)
    for claim in world.claims.values():
        world.look_again(claim.until)
    for one in tables.holdings.values():
        if one.confirmed or one.given:
            world.cards.confirm(one.workload, one.reservation, one.placements if one.confirmed else one.given)
        if not one.confirmed:
            world.cards.propose(one.workload, one.reservation, one.placements)
    for key in sorted(world.pods):
        if not world.pods[key].cardless:
            world.cards.observe_pod(world.pods[key])
        note_pod(world, world.pods[key])
    for name in CareTables.__struct_fields__:
        table = getattr(world.cards.care, name)
        table.clear()
        table.update(getattr(tables.care, name))
    for node in world.cards.nodes:
        world.cards.change_service(node)
    for due in world.cards.care.dues():
        world.look_again(due)
    for name, line in tables.lines.items():
        _line_up(world, name, line)
    world.settle()
    return world


def _line_up(world: World, name: str, saved: LineSnapshot) -> None:
    line = world.lines.of(name)
    line.held.update(saved.held)
    for key, order in saved.waiting.items():
        line.push(world.trail, PlaceInLine(*order, kind=world.workloads[key].equivalence))
    if saved.scan is not None:
        key, as_it_was, nothing_back, done = saved.scan
        came = world.quota.changed(name) + line.news[0]
        stamp = world.stamp(name)
        line.scan[key] = Scan(came if as_it_was else -1, stamp if nothing_back else -1, done, saved.tried)
    word = dict[str, str]().setdefault
    for key, told in saved.parked.items():
        reason, kind, held = word(told, told), saved.refused.get(key), world.workloads.get(key)
        if kind is None:
            line.park(world.trail, key if held is None else held.key, reason)
            continue
        workload = world.workloads[key]
        stamp = -1 if kind in saved.stale else world.stamp(name)
        line.park_refused(world.trail, place_of(world, workload, word(kind, kind), reason), stamp=stamp)
