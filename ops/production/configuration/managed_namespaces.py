"""The namespaces in which jobs are managed: those that are chosen, without those that bring kuelog back."""

from msgspec.structs import replace

from events.api.meta import Selector
from events.selector import LabelSelector, Operator, Requirement
from projections.nodes.affinity import selects
from services.jobs.managed_namespaces import NAMESPACE_NAME
from services.watcher.fields.pod_shapes import selector

SYSTEM, OWN = "kube-system", "kuelog-system"
_FIELD = "managedJobsNamespaceSelector"


def managed_namespaces(chosen: Selector | None, own: str) -> LabelSelector:
    """The namespaces that are chosen, but for `own`, in which kuelog runs; without a choice all but that and kube-system.

    Rule: docs/jobs.md#which-jobs-are-managed. Raises `Refused` and `ValueError`.
    """
    found = selector(chosen, _FIELD)
    if found is None:
        return LabelSelector(expressions=(_all_but(SYSTEM, own),))
    if selects(found, {NAMESPACE_NAME: SYSTEM}):
        raise ValueError(f'{_FIELD}: should not match the "{SYSTEM}" namespace')
    # Kueue refuses this as well. But files that were written for it leave out the namespace of Kueue.
    left = (_all_but(own),) if selects(found, {NAMESPACE_NAME: own}) else ()
    return replace(found, expressions=(*found.expressions, *left))


def _all_but(*names: str) -> Requirement:
    return Requirement(key=NAMESPACE_NAME, operator=Operator.NOT_IN, values=names)
