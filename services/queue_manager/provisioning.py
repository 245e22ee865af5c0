"""Admission checks that ask a cluster autoscaler for nodes: which ProvisioningRequest is due, and what its conditions mean.

Kueue's rules: a request that failed, or whose booking expired before admission, is retried with back-off up to a limit;
revoked capacity rejects the check; provisioned capacity makes it ready, and the pods consume it by the request's name.

Rule: docs/rules/checks.md#provisioning
"""

from events.catalogue import Decision
from events.event import Millis
from events.provisioning import (
    Answer,
    ProvisioningConfigObserved,
    ProvisioningDropped,
    ProvisioningOrdered,
    ProvisioningRequestObserved,
)
from events.upkeep import CheckSettled
from events.workload import CheckState, CheckStatus, PodSetUpdate
from projections.checks.provisioning import (
    CLASS_NAME,
    CONSUMES,
    RequestAttempt,
    asked_for,
    checks_of_ours,
    config_of,
    request_name,
    request_of,
)
from projections.checks.state import ProvisioningState
from projections.workloads.lifecycle import Workload
from services.queue_manager.back_off import back_off

INACTIVE = "the check is not active"
NOT_NEEDED = "the provisioning request is not needed"
_NO = Answer(true=False)


def decide_provisioning(world: ProvisioningState, workload: Workload, at: Millis) -> list[Decision]:
    """The next decision about one of the workload's provisioning checks; nothing when all are as they should be."""
    for name in checks_of_ours(world.checks, workload):
        config = config_of(world, name)
        events = (
            _without_config(workload, name, at)
            if config is None
            else _decide(world.provisioning_requests, world.provisioning_of, workload, name, config, at)
        )
        if events:
            return events
    return []


def _without_config(workload: Workload, name: str, at: Millis) -> list[Decision]:
    """The check's configuration is missing: an admitted workload stays so; others wait until the check is active again."""
    if workload.admitted:
        return []
    if name in workload.provisioning:
        return [ProvisioningDropped(workload=workload.key, check=name)]
    return _settle(workload, name, CheckState.PENDING, INACTIVE, at)


def _decide(
    provisioning_requests: dict[str, ProvisioningRequestObserved],
    provisioning_of: dict[str, dict[str, None]],
    workload: Workload,
    name: str,
    config: ProvisioningConfigObserved,
    at: Millis,
) -> list[Decision]:
    pod_sets = asked_for(config, workload)
    check = workload.checks[name]
    if not pod_sets:
        if name in workload.provisioning and not workload.admitted:
            return [ProvisioningDropped(workload=workload.key, check=name)]
        ready = check.state is CheckState.READY
        return [] if ready else _settle(workload, name, CheckState.READY, NOT_NEEDED, at)
    found = request_of(provisioning_requests, provisioning_of, workload, name)
    if (
        not workload.admitted
        and check.state is CheckState.PENDING
        and not _as_configured(workload, name, config, found)
    ):
        attempt = check.retries + 1
        return [
            ProvisioningOrdered(
                workload=workload.key,
                check=name,
                request=request_name(workload.name, name, attempt),
                attempt=attempt,
                class_name=config.class_name,
                parameters=config.parameters,
                own_parameters=workload.spec.provisioning,
                pod_sets=pod_sets,
                merge=config.merge,
            )
        ]
    if found is not None:
        return _answered(workload, name, config, found, at)
    asked = workload.provisioning.get(name)
    if asked is None or check.state is not CheckState.PENDING:
        return []
    return _settle(workload, name, CheckState.PENDING, asked.rejected, at)


def _as_configured(
    workload: Workload, name: str, config: ProvisioningConfigObserved, found: RequestAttempt | None
) -> bool:
    """Whether a request is ordered or there under the current configuration; a job's own parameters count as of the order."""
    asked = workload.provisioning.get(name)
    if asked is not None:
        return (asked.order.class_name, asked.order.parameters) == (config.class_name, config.parameters)
    if found is None:
        return False
    given = {**config.parameters, **workload.spec.provisioning}
    request = found.request
    return request.class_name == config.class_name and given.items() <= request.parameters.items()


def _answered(  # noqa: PLR0911 - one answer after the other
    workload: Workload, name: str, config: ProvisioningConfigObserved, found: RequestAttempt, at: Millis
) -> list[Decision]:
    answers, check = found.request.answers, workload.checks[name]
    failed, expired = answers.get("Failed", _NO), answers.get("BookingExpired", _NO)
    revoked, provisioned = answers.get("CapacityRevoked", _NO), answers.get("Provisioned", _NO)
    if failed.true:
        return _again(workload, name, config, found.attempt, "Retrying after failure", failed.message, at)
    if revoked.true:
        return _settle(workload, name, CheckState.REJECTED, revoked.message, at)
    if expired.true:
        if workload.admitted:
            return []
        return _again(workload, name, config, found.attempt, "Retrying after booking expired", expired.message, at)
    if provisioned.true:
        if check.state is CheckState.READY:
            return []
        updates = _updates(workload, config, found)
        return _settle(workload, name, CheckState.READY, provisioned.message, at, updates=updates)
    if workload.admitted:
        return []
    if answers.get("Accepted", _NO).true and "Provisioned" in answers:
        # It says when the nodes are expected.
        return _settle(workload, name, CheckState.PENDING, provisioned.message, at)
    return _settle(workload, name, CheckState.PENDING, "", at)


def _again(
    workload: Workload, name: str, config: ProvisioningConfigObserved, attempt: int, why: str, message: str, at: Millis
) -> list[Decision]:
    if attempt > config.backoff_limit:
        return _settle(workload, name, CheckState.REJECTED, message, at)
    check = workload.checks[name]
    if check.state is CheckState.RETRY or attempt <= check.retries:
        return []  # It is counted already.
    wait = back_off(config.backoff_base, config.backoff_max, attempt)
    return _settle(workload, name, CheckState.RETRY, f"{why}: {message}", at, after=wait)


def _settle(
    workload: Workload,
    name: str,
    state: CheckState,
    message: str,
    at: Millis,
    *,
    after: Millis | None = None,
    updates: tuple[PodSetUpdate, ...] = (),
) -> list[Decision]:
    check = workload.checks[name]
    if (check.state, check.message) == (state, message):
        return []
    since = check.since if check.state is state else at
    settled = CheckStatus(
        name=name,
        state=state,
        message=message,
        since=since,
        requeue_after=after,
        retries=check.retries,
        updates=updates,
    )
    return [CheckSettled(workload=workload.key, check=settled)]


def _updates(workload: Workload, config: ProvisioningConfigObserved, found: RequestAttempt) -> tuple[PodSetUpdate, ...]:
    """Annotations and node selectors by which pods consume the request, for each pod set that it covers."""
    details = found.request.details
    selector = {one.key: details[one.detail] for one in config.selectors if one.detail in details}
    annotations = {CONSUMES: found.request.name, CLASS_NAME: found.request.class_name}
    return tuple(
        PodSetUpdate(name=one.name, annotations=annotations, node_selector=dict(sorted(selector.items())))
        for one in asked_for(config, workload)
    )
