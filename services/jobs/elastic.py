"""Elastic jobs: which kinds may change their size while they run, and the gate at which their pods wait for a slice.

Rule: docs/rules/elastic.md#kinds
"""

from events.api.labels import ELASTIC_JOB
from events.job_kind import JobKind
from events.json_object import JsonMapping, JsonObject
from services.jobs.paths import get, put
from services.jobs.table import JOB, RAY_CLUSTER

_KINDS = frozenset({JOB.name, RAY_CLUSTER.name})
_GATES = ("spec", "schedulingGates")


def may_be_elastic(kind: JobKind) -> bool:
    """Whether jobs of a kind may be elastic."""
    return kind.name in _KINDS


def waits_for_slice(pod: JsonMapping) -> bool:
    """Whether a pod waits until a slice is admitted that has room for it."""
    return {"name": ELASTIC_JOB} in (get(pod, _GATES) or ())


def let_through(pod: JsonObject) -> JsonObject:
    """The pod without that gate."""
    others = [one for one in get(pod, _GATES) or () if one != {"name": ELASTIC_JOB}]
    return put(pod, _GATES, others or None)
