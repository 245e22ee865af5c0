"""Elastic jobs: which kinds may change their size while they run.

Rule: docs/rules/elastic.md#kinds
"""

from events.job_kind import JobKind
from services.jobs.kinds.table import JOB, RAY_CLUSTER, RAY_JOB, RAY_SERVICE

_KINDS = frozenset(one.name for one in (JOB, RAY_CLUSTER, RAY_JOB, RAY_SERVICE))


def may_be_elastic(kind: JobKind) -> bool:
    """Whether jobs of a kind may be elastic."""
    return kind.name in _KINDS
