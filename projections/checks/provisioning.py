"""What is asked of a cluster autoscaler for a workload, under which name, and which request in the cluster answers it.

kuelog is the check's controller, under Kueue's name: a workload with quota that needs the check is admitted once the
autoscaler has provisioned the nodes. Each attempt has a request of its own.
"""

import hashlib
import re
from collections.abc import Mapping

import msgspec

from events.api.check_controllers import PROVISIONING
from events.provisioning import (
    PodSetCount,
    ProvisioningConfigObserved,
    ProvisioningOrdered,
    ProvisioningRequestObserved,
)
from events.quota import AdmissionCheckObserved
from events.workload import CheckState, CheckStatus
from projections.checks.parameters import parameters_problem
from projections.checks.state import ProvisioningState
from projections.workloads.lifecycle import Provisioning, Workload

CONFIG_KIND = "ProvisioningRequestConfig"
CONSUMES, CLASS_NAME = (
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "autoscaling.x-k8s.io/provisioning-class-name",
)
"""Annotations by which pods take what was provisioned for them."""

_LONGEST, _DIGITS = 252, 5


class RequestAttempt(msgspec.Struct, frozen=True):
    """A request in the cluster that counts for a check, and the number of its attempt, from 1."""

    request: ProvisioningRequestObserved
    attempt: int


def request_name(workload: str, check: str, attempt: int) -> str:
    """The name of a ProvisioningRequest, as Kueue makes it (docs/rules/checks.md#provisioning)."""
    return _limited(f"{workload}-{check}-{attempt}")


def template_name(request: str, pod_set: str) -> str:
    """The name of the PodTemplate of one pod set of a request."""
    return _limited(f"ppt-{request}-{pod_set}")


def _limited(name: str) -> str:
    most = _LONGEST - _DIGITS
    if len(name) <= most:
        return name
    digest = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
    return f"{name[:most]}-{digest[:_DIGITS]}"


def config_of(world: ProvisioningState, check: str) -> ProvisioningConfigObserved | None:
    """How a check asks the autoscaler; None when it can't, for the reason that `config_problem` gives."""
    found = world.checks.get(check)
    if found is None or found.parameters is None or config_problem(world, check):
        return None
    return world.provisioning_configs.get(found.parameters.name)


def config_problem(world: ProvisioningState, check: str) -> str:
    """What is wrong with the parameters of a provisioning check; empty when nothing is."""
    return parameters_problem(world, check, CONFIG_KIND, world.provisioning_configs)


def checks_of_ours(checks: Mapping[str, AdmissionCheckObserved], workload: Workload) -> list[str]:
    """The checks of a workload that ask the autoscaler."""
    return [
        name
        for name in sorted(workload.checks)
        if (check := checks.get(name)) is not None and check.controller == PROVISIONING
    ]


def asked_for(config: ProvisioningConfigObserved, workload: Workload) -> tuple[PodSetCount, ...]:
    """The pod sets of a workload that nodes are asked for, as it was admitted; none when it needs none."""
    if workload.admission is None:
        return ()
    given = {one.name: one.count for one in workload.admission.assignments}
    managed = frozenset(config.managed_resources)
    return tuple(
        PodSetCount(name=one.name, count=given[one.name])
        for one in workload.spec.pod_sets
        if given.get(one.name, 0) > 0
        and (
            not managed
            or any(
                not managed.isdisjoint(container.requests) or not managed.isdisjoint(container.limits)
                for container in (*one.shape.init_containers, *one.shape.containers)
            )
        )
    )


def request_of(
    provisioning_requests: dict[str, ProvisioningRequestObserved],
    provisioning_of: dict[str, dict[str, None]],
    workload: Workload,
    check: str,
) -> RequestAttempt | None:
    """The request that answers a check: the one that was ordered, or the latest that was made before we took the workload over.

    Rule: docs/rules/adoption.md#requests
    """
    asked = workload.provisioning.get(check)
    if asked is not None:
        seen = provisioning_requests.get(f"{workload.namespace}/{asked.order.request}")
        matches = seen is not None and seen.workload == workload.key and _answers(seen, asked)
        return RequestAttempt(seen, asked.order.attempt) if seen is not None and matches else None
    prefix = re.compile(re.escape(_limited(f"{workload.name}-{check}-")) + r"([0-9]+)")
    # What bears a decision was ordered for a reservation of ours, unless there is none: then it is of another log, or served on.
    all_count = workload.admission is not None and workload.admission.of_others
    found = [
        RequestAttempt(one, int(match[1]))
        for one in requests_in_cluster(provisioning_requests, provisioning_of, workload)
        if (all_count or not one.decision) and (match := prefix.fullmatch(one.name)) is not None
    ]
    latest = max(found, key=lambda one: one.attempt, default=None)
    status = workload.checks.get(check)
    return None if latest is None or (status is not None and _is_over(latest, status)) else latest


def _answers(seen: ProvisioningRequestObserved, asked: Provisioning) -> bool:
    """Whether it is what was ordered, or what another manager had asked for the same, of which we heard late."""
    if seen.decision:
        return seen.decision == asked.decision
    return seen.uid != asked.before and asks_for_the_same(asked.order, seen.class_name, seen.parameters)


def asks_for_the_same(order: ProvisioningOrdered, class_name: str, parameters: Mapping[str, str]) -> bool:
    """Whether a request of another manager asks in the same way for what was ordered."""
    wanted = {**order.parameters, **order.own_parameters}
    return class_name == order.class_name and wanted.items() <= parameters.items()


def _is_over(found: RequestAttempt, status: CheckStatus) -> bool:
    """Whether a request has failed, which was counted before, so that the next attempt is due."""
    answers = found.request.answers
    failed = any(kind in answers and answers[kind].true for kind in ("Failed", "BookingExpired"))
    return failed and status.state is CheckState.PENDING and found.attempt <= status.retries


def requests_in_cluster(
    provisioning_requests: dict[str, ProvisioningRequestObserved],
    provisioning_of: dict[str, dict[str, None]],
    workload: Workload,
) -> list[ProvisioningRequestObserved]:
    """All requests that belong to a workload, by name."""
    return [provisioning_requests[key] for key in sorted(provisioning_of.get(workload.key, ()))]


def of_no_use(world: ProvisioningState, workload: Workload) -> list[ProvisioningRequestObserved]:
    """Requests in the cluster that are obsolete, such as those of workloads that have finished or are evicted."""
    there = requests_in_cluster(world.provisioning_requests, world.provisioning_of, workload)
    if not there:
        return []
    kept: set[str] = set()
    if workload.reserved and not workload.evicted and not workload.finished and not workload.in_cluster.discarded:
        found = (
            request_of(world.provisioning_requests, world.provisioning_of, workload, check)
            for check in checks_of_ours(world.checks, workload)
        )
        kept = {one.request.uid for one in found if one is not None}
    return [one for one in there if one.uid not in kept]
