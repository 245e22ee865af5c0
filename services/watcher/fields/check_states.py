"""Admission checks as facts, and their states on a Workload."""

from events.api.kueue import ApiAdmissionCheck
from events.api.labels import BUDGET_PRICES
from events.api.workload import ApiPodSetUpdate, ApiWorkload
from events.catalogue import Fact
from events.json_object import JsonMapping
from events.quota import AdmissionCheckObserved, CheckParameters
from events.timestamp import parse_timestamp
from events.workload import CheckState, CheckStatus, PodSetUpdate
from projections.queues.active_condition import OURS
from services.validation.kinds.workload import pod_set_update_problems
from services.watcher.fields.budget_text import PRICES_EXAMPLE, prices
from services.watcher.fields.object_reading import annotated, is_held, read
from services.watcher.fields.pod_shapes import tolerations
from services.watcher.fields.problems import Refused, problem


def admission_check(value: JsonMapping) -> Fact:
    """The fact of an AdmissionCheck: its controller, parameters, and whether it is active. Raises `Refused`."""
    found = read(value, ApiAdmissionCheck)
    shows_active = any(one.type == "Active" and one.status == "True" for one in found.status.conditions or ())
    active = shows_active or found.spec.controller_name in OURS  # Ours are always there.
    parameters = found.spec.parameters
    return AdmissionCheckObserved(
        name=found.metadata.name,
        uid=found.metadata.uid,
        generation=found.metadata.generation,
        controller=found.spec.controller_name,
        active=active,
        parameters=None
        if parameters is None
        else CheckParameters(group=parameters.api_group, kind=parameters.kind, name=parameters.name),
        prices=annotated(found.metadata, BUDGET_PRICES, prices, (), PRICES_EXAMPLE),
        terminating=found.metadata.deletion_timestamp is not None,
        held=is_held(found.metadata),
    )


def checks_of(value: JsonMapping, found: ApiWorkload) -> tuple[CheckStatus, ...]:
    """The states of a Workload's admission checks, from its JSON and its typed form.

    Raises `Refused` for a `podSetUpdate` that the API would not accept, or whose pod set does not exist: no state is reported
    then, and the object gets an Event.
    """
    checks = found.status.admission_checks or ()
    if any(one.pod_set_updates for one in checks):
        broken = pod_set_update_problems(value)
        if broken:
            raise Refused([problem(one.field, one.what, one.instead) for one in broken])
    return tuple(
        CheckStatus(
            name=one.name,
            state=CheckState(one.state),
            message=one.message,
            since=parse_timestamp(one.last_transition_time) if one.last_transition_time else 0,
            requeue_after=None if one.requeue_after_seconds is None else one.requeue_after_seconds * 1000,
            retries=one.retry_count or 0,
            updates=tuple(_update(update) for update in one.pod_set_updates or ()),
        )
        for one in checks
    )


def _update(found: ApiPodSetUpdate) -> PodSetUpdate:
    return PodSetUpdate(
        name=found.name,
        labels=dict(sorted((found.labels or {}).items())),
        annotations=dict(sorted((found.annotations or {}).items())),
        node_selector=dict(sorted((found.node_selector or {}).items())),
        tolerations=tolerations(found.tolerations or ()),
    )
