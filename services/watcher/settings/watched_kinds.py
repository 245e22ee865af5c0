"""Which kinds of object are watched, and the order of their first lists."""

from collections.abc import Iterable

from events.settings import SettingsObserved
from projections.claims.counted import counts_claims
from services.jobs.kinds.managed_kinds import Kinds, resource_of
from services.jobs.kinds.table import APP_WRAPPER, KINDS, RAY_JOB, RAY_SERVICE, STATEFUL_SET, TRAIN_JOB
from services.jobs.kinds.training_runtime import RUNTIMES
from services.provisioning_kinds import REQUESTS
from services.runtime.cluster_port import Resource
from services.watcher.claims.claim_book import CLAIM_KINDS
from services.watcher.settings.cluster_objects import OBSERVED
from services.watcher.settings.installed_kinds import InstalledKinds

KUEUE, CONFIG_MAP = "kueue.x-k8s.io", "ConfigMap"
CLUSTER_KINDS = (
    *(one.resource for one in OBSERVED),
    Resource(plural="nodes", kind="Node", namespaced=False),
)
"""Seen before any job is looked at, so that a job finds its queue and its class."""


def seen_first(settings: SettingsObserved) -> tuple[Resource, ...]:
    """These, after HAMi's configuration: what nodes and pods say of cards is read by it."""
    return (*hami_configs(settings), *CLUSTER_KINDS, *claim_kinds(settings))


def claim_kinds(settings: SettingsObserved) -> tuple[Resource, ...]:
    """What claims are counted by, where they are counted at all."""
    return CLAIM_KINDS if counts_claims(settings) else ()


def hami_configs(settings: SettingsObserved) -> tuple[Resource, ...]:
    """The ConfigMaps of HAMi that are looked at; no other ConfigMap is."""
    hami = settings.hami
    names = dict.fromkeys((hami.device_config, hami.node_config)) if settings.devices else ()
    return tuple(
        Resource(plural="configmaps", kind=CONFIG_MAP, namespace=hami.namespace, name=name) for name in names if name
    )


WORKLOAD_KIND = Resource(group=KUEUE, version="v1beta2", plural="workloads", kind="Workload")
PODS = Resource(plural="pods", kind="Pod")
JOB_KINDS = (
    resource_of(STATEFUL_SET),
    Resource(group="batch", plural="jobs", kind="Job"),
    PODS,
)
"""Looked at after the kinds that are installed, whose objects may own them."""
IF_INSTALLED = (REQUESTS, *RUNTIMES.values())
"""Optional kinds besides those of jobs, watched as soon as they are installed; where they are, they are seen before any job."""
_MAKERS = (TRAIN_JOB.place, RAY_JOB.place, RAY_SERVICE.place)
"""Kinds whose controllers make jobs of other kinds."""
_MADE = {one.place for one in KINDS} - {APP_WRAPPER.place, *_MAKERS}


def optional_kinds(kinds: Kinds) -> InstalledKinds:
    """Which of all optional kinds are installed: those of jobs, and of what else may own one, those that serve, and what all are read with."""
    return InstalledKinds(kinds.watched, IF_INSTALLED)


def owners_first(found: Iterable[Resource]) -> list[Resource]:
    """Kinds in the order in which they are looked at first: those whose objects own others, which then are no jobs of their own.

    An AppWrapper may hold any of them, a kind that was configured any but that.

    Rule: docs/rules/objects.md#owners
    """
    return sorted(found, key=lambda one: (one.kind != APP_WRAPPER.place, one.kind in _MADE, one.kind in _MAKERS))
