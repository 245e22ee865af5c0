"""Whether HAMi's webhook admits a pod that asks for cards (docs/rules/devices.md#webhook)."""

from collections.abc import Mapping, Sequence

import msgspec

from projections.devices.card_config import CHART_DEFAULTS, NvidiaDefaults
from projections.devices.namespace_quota import Limit, asked_at_once, room
from projections.devices.requests.card_requests import read_request
from projections.devices.requests.mutation import ContainerRequest, mutate
from projections.devices.vendors.vendor import Vendor

DEFAULT_SCHEDULER, HAMI_SCHEDULER = "default-scheduler", "hami-scheduler"
WEBHOOK, IGNORE = "hami.io/webhook", "ignore"
"""A label by which HAMi leaves a pod alone, or all pods of a namespace."""
NO_CONTAINERS = "no-containers"
OTHER_SCHEDULER = "other-scheduler"
PRIVILEGED = "privileged"
NODE_ASSIGNED = "node-assigned"
QUOTA = "quota"
INVALID = "invalid"


def is_ignored(labels: Mapping[str, str]) -> bool:
    """Whether the labels of a pod, or of its namespace, keep HAMi's webhook from it."""
    return labels.get(WEBHOOK) == IGNORE


class Applicant(msgspec.Struct, frozen=True, kw_only=True):
    """A pod as it is submitted to the webhook."""

    init_containers: tuple[ContainerRequest, ...] = ()
    containers: tuple[ContainerRequest, ...] = ()
    privileged: bool = False
    """Whether any container is."""
    annotations: Mapping[str, str] = {}
    scheduler: str = ""
    node: str = ""


class PodVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the pod is admitted, the code of the answer if it has one, and its containers after the mutation."""

    allowed: bool
    code: str = ""
    message: str = ""
    init_containers: tuple[ContainerRequest, ...] = ()
    containers: tuple[ContainerRequest, ...] = ()
    scheduler: str = ""


def judge(
    pod: Applicant,
    vendors: Mapping[str, Vendor],
    limits: Mapping[str, Limit],
    *,
    scheduler: str,
    force: bool,
    defaults: NvidiaDefaults = CHART_DEFAULTS,
) -> PodVerdict:
    """The webhook's verdict; `scheduler` is the name of HAMi's, `force` takes pods of the default scheduler too."""
    if not pod.containers:
        return _denied(NO_CONTAINERS, "the pod has no containers")
    unchanged = PodVerdict(
        allowed=True, init_containers=pod.init_containers, containers=pod.containers, scheduler=pod.scheduler
    )
    ours = ("", scheduler, DEFAULT_SCHEDULER) if force else ("", scheduler)
    if pod.scheduler not in ours:
        return msgspec.structs.replace(unchanged, code=OTHER_SCHEDULER)
    every = [*pod.init_containers, *pod.containers]
    found = False
    for vendor in vendors.values():
        for place, asked in enumerate(every):
            mutated = mutate(vendor, asked, pod.annotations, defaults)
            if mutated.refused:
                return _denied(INVALID, mutated.refused)
            every[place], found = mutated.asked, found or mutated.found
    if not found:
        return unchanged
    init = len(pod.init_containers)
    return _unfit(pod, vendors, every, limits, defaults) or PodVerdict(
        allowed=True, init_containers=tuple(every[:init]), containers=tuple(every[init:]), scheduler=scheduler
    )


def _unfit(
    pod: Applicant,
    vendors: Mapping[str, Vendor],
    containers: Sequence[ContainerRequest],
    limits: Mapping[str, Limit],
    defaults: NvidiaDefaults,
) -> PodVerdict | None:
    """The verdict that refuses a pod that asks for cards, or None."""
    if pod.privileged:
        return _denied(PRIVILEGED, "a privileged container sees every card")
    if pod.node:
        return _denied(NODE_ASSIGNED, "the pod names its node itself")
    for vendor in vendors.values():
        if not pod_within_quota(vendor, containers, len(pod.init_containers), limits, defaults):
            return _denied(QUOTA, f"the namespace's quota for {vendor.word} does not hold it")
    return None


def _denied(code: str, message: str) -> PodVerdict:
    return PodVerdict(allowed=False, code=code, message=message)


def pod_within_quota(
    vendor: Vendor,
    containers: Sequence[ContainerRequest],
    init: int,
    limits: Mapping[str, Limit],
    defaults: NvidiaDefaults = CHART_DEFAULTS,
) -> bool:
    """Whether the namespace's quota for one vendor holds what the pod asks for."""
    requests = [read_request(vendor, one.limits, one.requests, defaults) for one in containers]
    asked = asked_at_once([() if request is None else (request,) for request in requests], init, vendor.word)
    return room(limits, vendor.resources).holds(asked.memory, asked.cores)
