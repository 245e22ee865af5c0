"""What the webhooks say of an object: how it is stored, and what is wrong with it; pure."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet

from events.api.labels import QUEUE_NAME, RESOURCE_IN_USE
from events.json_object import JsonObject, array_at, object_at
from events.settings import SettingsObserved
from ops.production.webhook.review import ReviewRequest
from services.jobs.default_queue import in_default_queue
from services.jobs.defaulting import queued_later, waiting
from services.jobs.job_change_rules import gates_changed, job_problems, label_name_problems, time_problems
from services.jobs.kinds.elastic_rules import elastic_problems
from services.jobs.kinds.managed_by import given_to_multikueue
from services.jobs.kinds.managed_kinds import kinds_of
from services.jobs.kinds.named_queue import named_queue
from services.jobs.kinds.owner_references import belongs_to_job
from services.jobs.kinds.pods import labels_of
from services.jobs.kinds.serving_rules import serving_problems
from services.jobs.kinds.table import DEPLOYMENT
from services.jobs.topology.topology_rules import new_topology_problems
from services.validation.conversion.convert import GROUP, to_v1beta2, written_field
from services.validation.every_kind import validate, validate_notes, validate_status, validate_update
from services.validation.problem import Problem, invalid
from services.watcher.fields.problems import Refused
from services.watcher.settings.cluster_objects import SIMPLE

HELD_KINDS = frozenset({"ClusterQueue", "ResourceFlavor"})
"""What bears our finalizer from the start, as under Kueue (docs/rules/queues.md#in-use)."""
_LEFT = "queue-name must not be empty in namespace with default queue"


def nowhere(namespace: str, queue: str) -> bool:
    """That no local queue leads to other clusters."""
    del namespace, queue
    return False


def stored(
    request: ReviewRequest,
    local_queues: AbstractSet[str],
    settings: SettingsObserved,
    *,
    managed: bool = True,
    elsewhere: Callable[[str, str], bool] = nowhere,
    owned: bool | None = None,
) -> JsonObject:
    """The object as it is to be stored; `local_queues` are the namespaces with a local queue for everybody.

    `managed` says whether jobs of its namespace are ours at all, `elsewhere` whether a local queue, by namespace and name,
    leads to other clusters, `owned` whether a managed job owns it, if anybody has looked.
    """
    value = request.object or {}
    kind = request.kind.get("kind", "")
    if request.kind.get("group") == GROUP:
        made = request.operation == "CREATE" and not request.sub_resource
        return _held(value) if made and kind in HELD_KINDS else value
    if not managed or request.sub_resource or request.operation not in ("CREATE", "UPDATE"):
        return value
    if request.namespace in local_queues:
        value = in_default_queue(request.operation, kind, value, settings)
    if request.operation == "UPDATE":
        return queued_later(value, kind, kinds_of(settings), owned=owned)
    if kinds_of(settings).of(str(value.get("apiVersion", "")), kind) and elsewhere(
        request.namespace, named_queue(value)
    ):
        value = given_to_multikueue(value, kind)
    return waiting(value, kind, kinds_of(settings), owned=owned)


def _held(value: JsonObject) -> JsonObject:
    """With the finalizer by which it is there as long as something needs it.

    Rule: docs/rules/queues.md#in-use
    """
    meta = object_at(value, "metadata")
    borne = list(array_at(meta, "finalizers"))
    if RESOURCE_IN_USE in borne:
        return value
    return {**value, "metadata": {**meta, "finalizers": [*borne, RESOURCE_IN_USE]}}


def problems_of(
    request: ReviewRequest,
    settings: SettingsObserved,
    local_queues: AbstractSet[str] = frozenset(),
    *,
    managed: bool = True,
) -> list[Problem]:
    """What lint would say, and the watcher; an object that is leaving is held up by nothing.

    `local_queues` are the namespaces with a local queue for everybody, `managed` says whether jobs of its namespace are ours that name no queue.
    """
    value = request.object
    if value is None or object_at(value, "metadata").get("deletionTimestamp"):
        return []
    if request.sub_resource:
        return _status_problems(request, value, settings)
    kueues = request.kind.get("group") == GROUP
    left = named_queue(request.old_object or {}) and not named_queue(value)
    if not kueues and not left and not named_queue(value) and not (managed and _waits_unnamed(value, settings)):
        return label_name_problems(value, labels_of(request.old_object or {}), (QUEUE_NAME,))
    group, kind = request.kind.get("group", ""), request.kind.get("kind", "")
    if not kueues and left and request.namespace in local_queues:
        return [invalid(f"metadata.labels[{QUEUE_NAME}]", "", _LEFT, "the name of a local queue")]
    if kinds_of(settings).serves(group, kind):
        return _of_what_serves(group, kind, request.old_object, value, settings)
    read = to_v1beta2({**value, "kind": request.kind.get("kind", value.get("kind", ""))})
    newest, found = read.value, read.problems
    old = request.old_object
    of_jobs = [
        *job_problems(old, newest, settings),
        *new_topology_problems(old, newest, settings),
        *elastic_problems(old, newest, settings),
    ]
    if request.operation == "UPDATE" and old is not None:
        before = to_v1beta2(old).value
        if _meant(before) == _meant(newest):
            # What was stored under older rules may still be labelled, annotated and let go.
            return [*validate_notes(before, newest, settings), *of_jobs]
        found = [*found, *validate_update(before, newest, settings), *of_jobs]
    else:
        found = [*found, *validate(newest, settings), *of_jobs]
    return [_as_written(value, one) for one in found or _untranslatable(newest)]


def _of_what_serves(
    group: str, kind: str, old: JsonObject | None, value: JsonObject, settings: SettingsObserved
) -> list[Problem]:
    before = labels_of(old or {})
    return [
        *(serving_problems(group, kind, old, value) if old is not None else []),
        *label_name_problems(value, before),
        *gates_changed(old, value),
        # Pods of a Deployment are let in one by one, each for as long as it says itself.
        *(time_problems(value, before) if kind != DEPLOYMENT.kind else []),
        *new_topology_problems(old, value, settings),
    ]


def _waits_unnamed(value: JsonObject, settings: SettingsObserved) -> bool:
    """Whether a job that names no queue waits until it does, as all of them do, but for those that go with their owner."""
    return settings.without_queue and not belongs_to_job(value, kinds_of(settings))


def _status_problems(request: ReviewRequest, value: JsonObject, settings: SettingsObserved) -> list[Problem]:
    """Of a Workload's status, which others write as well: controllers of admission checks, dispatchers, people."""
    if request.sub_resource != "status" or request.old_object is None or request.kind.get("kind") != "Workload":
        return []
    newest = to_v1beta2(value).value
    found = validate_status(to_v1beta2(request.old_object).value, newest, settings)
    return [_as_written(newest, one) for one in found]


def _meant(value: JsonObject) -> JsonObject:
    """All of an object but what others say of it."""
    return {name: part for name, part in value.items() if name not in ("metadata", "status")}


def _untranslatable(value: JsonObject) -> list[Problem]:
    read = SIMPLE.get(str(value.get("kind")))
    try:
        if read is not None:
            read(value)
    except Refused as refused:
        return [
            Problem(field=one.field, code="Invalid", what=one.message, instead=one.instead) for one in refused.problems
        ]
    return []


def _as_written(value: JsonObject, problem: Problem) -> Problem:
    """The problem under the name that its field has in the object that was sent."""
    return Problem(
        field=written_field(value, problem.field),
        code=problem.code,
        what=problem.what,
        consequence=problem.consequence,
        instead=problem.instead,
        severity=problem.severity,
        origin=problem.origin,
        value=problem.value,
    )
