"""Where Kueue and kuelog say something else of an object, and which of these differences are meant."""

import re
from typing import Any, NamedTuple

from events.quantity import BadQuantity, parse_quantity
from tests.peers.refusals.asked import Asked, Verdict
from tests.peers.worlds.difference import differences

MEANT = {
    "queue without a queue": "Kueue takes a LocalQueue that names no ClusterQueue, and nothing ever gets in through it: docs/rules/objects.md#validation",
    "says more": "kuelog names all that is wrong, where Kueue stops at the first",
    "names the whole": "kuelog names the template that may not change, Kueue each field of it",
    "later checks": "later versions of Kueue, whose rules kuelog has, refuse checks for flavors that the queue has not",
    "pods that can't be": "Kueue takes a Workload whose pods no API server would take, or that asks for slices and does not say how large",
    "size of a group": "a LeaderWorkerSet's own webhook keeps its size, which is not there",
    "runtime not read": "Kueue reads the runtime of a TrainJob that is made, as the trainer's own webhook does, which is not there",
    "written anew": "Kueue's webhook writes all of an object that it changes anything of, and the API server sees values that were not there",
    "variants from the beginning": "later versions of Kueue, whose rules kuelog has, try several flavors at once in queues alone that did so from the beginning",
    "its own parent": "Kueue takes a Cohort that is its own parent, and its queues take nothing in: docs/rules/objects.md#validation",
    "reserved nowhere": "Kueue's webhook dies of a Workload that holds quota and does not say where, so that its API server knows no answer",
    "admission to no queue": "Kueue takes an admission that names no ClusterQueue, to which v1beta1 has no translation",
    "said at once": "Kueue takes topology annotations that can't be read on a Deployment or StatefulSet, and refuses each of its pods; of a pod it takes no notice of its offset",
}
"""By name, why what is different is meant."""
_PLACED = ("annotations[kueue.x-k8s.io/podset-", "annotations[kueue.x-k8s.io/pod-index-offset")
_FIELD = re.compile(r"(?:^|[\[ ,])((?:spec|metadata|status)[\w./\[\]\-\"']*): ")


class Apart(NamedTuple):
    """What is different, and its name where that is meant."""

    differences: list[str]
    name: str = ""


def apart(asked: Asked) -> Apart:
    """Compare what both have said."""
    there, here = asked.there, asked.here
    both = [f"Kueue: {_said(there)}", f"kuelog: {_said(here)}"]
    if (there.by == "conflict" or "panic" in there.message) and _reserves_nowhere(asked.drawn.value):
        return Apart(both, "reserved nowhere")
    if asked.drawn.part and fields(here) == {"status.admission.clusterQueue"}:
        return Apart(both, "admission to no queue")
    if there.taken is not None and here.taken is not None:
        found = list(differences(_as_go_has_it(there.taken), _as_go_has_it(here.taken), ()))
        return Apart([str(one) for one in found])
    if there.taken is None and here.taken is None:
        mine, others = fields(here), fields(there)
        if "schema" in (there.by, here.by) or mine == others:
            return Apart([])
        return Apart(both, "runtime not read" if _asks_for_a_runtime(asked) else _name_of_refusals(mine, others))
    if "schema" in (there.by, here.by):
        return Apart(both, "written anew")
    return Apart(both, _name_of_refusal(asked) if there.taken is not None else _name_of_more(asked))


def _reserves_nowhere(value: dict[str, Any]) -> bool:
    status = value.get("status", {})
    held = any(one["type"] == "QuotaReserved" and one["status"] == "True" for one in status.get("conditions", ()))
    return held and "admission" not in status


def _name_of_refusals(mine: set[str], others: set[str]) -> str:
    if others and others < mine:
        return "says more"
    if others and all(any(other.startswith(f"{one}.") or other == one for one in mine) for other in others):
        return "names the whole"
    return ""


def _name_of_refusal(asked: Asked) -> str:
    """Why kuelog alone refuses it."""
    kind, named = asked.drawn.value["kind"], fields(asked.here)
    if kind == "LocalQueue" and all(one == "spec.clusterQueue" for one in named):
        return "queue without a queue"
    if kind == "ClusterQueue" and all("onFlavors" in one for one in named):
        return "later checks"
    if kind == "Workload" and all(".template." in one or "topologyRequest" in one for one in named):
        return "pods that can't be"
    if kind == "LeaderWorkerSet" and named == {"spec.leaderWorkerTemplate.size"}:
        return "size of a group"
    if kind == "ClusterQueue" and named == {"spec.concurrentAdmissionPolicy"}:
        return "variants from the beginning"
    if kind == "Cohort" and "is its own parent" in asked.here.message:
        return "its own parent"
    if kind in ("Deployment", "StatefulSet", "Pod") and all(any(note in one for note in _PLACED) for one in named):
        return "said at once"
    return ""


def _name_of_more(asked: Asked) -> str:
    """Why Kueue alone refuses it."""
    return "runtime not read" if _asks_for_a_runtime(asked) else ""


def _asks_for_a_runtime(asked: Asked) -> bool:
    return asked.drawn.value["kind"] == "TrainJob" and "runtime" in asked.there.message


def _as_go_has_it(value: Any) -> Any:
    """As Kueue's webhook writes all that it changes anything of: what is empty left out, quantities in one form."""
    match value:
        case dict():
            found = {key: _as_go_has_it(one) for key, one in value.items()}
            return {key: one for key, one in found.items() if one not in ({}, None)}
        case list():
            return [_as_go_has_it(one) for one in value]
        case str() | int() if not isinstance(value, bool):
            try:
                return str(parse_quantity(value))
            except BadQuantity:
                return value
        case _:
            return value


def fields(verdict: Verdict) -> set[str]:
    """Of which fields a refusal speaks."""
    return set(_FIELD.findall(verdict.message))


def _said(verdict: Verdict) -> str:
    return "takes it" if verdict.taken is not None else f"{verdict.by}: {verdict.message}"
