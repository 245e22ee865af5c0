"""The local queue called `default`: which objects that name no queue get it as theirs where their namespace has one.

Rule: docs/rules/queues.md#default-queue
"""

from events.api.labels import QUEUE_NAME
from events.job_kind import JobKind
from events.json_object import JsonObject, object_at
from events.json_path import get, put
from events.settings import SettingsObserved
from services.jobs.defaulting import named_queue
from services.jobs.kinds.managed_kinds import Kinds, kinds_of
from services.jobs.kinds.owner_references import belongs_to_job, controller_of
from services.jobs.kinds.pods import has_parent, labels_of
from services.jobs.kinds.serving import SET_LABEL
from services.jobs.kinds.table import POD, SERVING

DEFAULT_QUEUE = "default"
SYSTEM_CLASSES = "system-"
"""How the names of the priority classes begin without whose pods no cluster runs."""


def in_default_queue(operation: str, word: str, value: JsonObject, settings: SettingsObserved) -> JsonObject:
    """An object of a namespace with a default queue, with that as its queue if it takes it; any other as it is."""
    if named_queue(value) or not _takes_default(operation, word, value, settings):
        return value
    return put(value, ("metadata", "labels", QUEUE_NAME), DEFAULT_QUEUE)


def pods_take_default(settings: SettingsObserved) -> bool:
    """Whether pods do: all of them have to be asked about for it, so somebody must have chosen that."""
    return settings.without_queue or POD.name in settings.frameworks


def serving_that_takes_default(settings: SettingsObserved) -> tuple[JobKind, ...]:
    """The serving kinds that do, for the same reason."""
    chosen = (one for name, one in SERVING.items() if settings.without_queue or name in settings.frameworks)
    return tuple(one for one in chosen if one in kinds_of(settings).serving)


def _takes_default(operation: str, word: str, value: JsonObject, settings: SettingsObserved) -> bool:
    kinds, api = kinds_of(settings), str(value.get("apiVersion") or "")
    if belongs_to_job(value, kinds):
        return False
    if kinds.serves(api.rpartition("/")[0], word):
        chosen = word in {one.kind for one in serving_that_takes_default(settings)}
        return chosen and (operation == "CREATE" or not _is_ready(value)) and not _belongs_to_serving(value, kinds)
    kind = kinds.of(api, word) if operation == "CREATE" else None
    if kind is None or kind.reader != POD.reader:
        return kind is not None
    system = str(object_at(value, "spec").get("priorityClassName") or "").startswith(SYSTEM_CLASSES)
    return pods_take_default(settings) and not has_parent(value) and not system


def _belongs_to_serving(value: JsonObject, kinds: Kinds) -> bool:
    """Whether something that serves itself has made it, such as a LeaderWorkerSet the StatefulSets behind it."""
    owner = controller_of(value) or {}
    made = kinds.of(str(owner.get("apiVersion", "")), str(owner.get("kind", "")))
    return SET_LABEL in labels_of(value) or made is not None


def _is_ready(value: JsonObject) -> bool:
    """Whether pods of it serve: then its queue can't change, and another template would have them made anew."""
    return (get(value, ("status", "readyReplicas")) or 0) > 0
