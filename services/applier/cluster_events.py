"""What is told in the cluster in passing: Kubernetes Events on objects that can't be understood, and on Workloads."""

import hashlib
from typing import Any

from events.control import ObjectRefused
from events.event import Millis
from events.pod import PodAccounted
from events.provisioning import ProvisioningRejected
from events.timestamp import format_timestamp
from projections.workloads import News
from services.jobs.table import KINDS

REASON = "Refused"
_API = {
    **{kind.place: f"{kind.group}/{kind.versions[0]}" for kind in KINDS},
    "Node": "v1",
    "Pod": "v1",
    "Namespace": "v1",
    "LimitRange": "v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "RuntimeClass": "node.k8s.io/v1",
}
_KUEUE = "kueue.x-k8s.io/v1beta2"


def refusal_event(refused: ObjectRefused, at: Millis) -> dict[str, Any]:
    """The Event for one refusal; the same refusal gives the same name, so that it is told once."""
    message = "; ".join(
        f"{one.field}: {one.message}" + (f" (write {one.instead})" if one.instead else "") for one in refused.problems
    )
    kind, name = ("Pod", refused.pod) if refused.pod else (refused.kind, refused.name)
    about = _about(kind, refused.namespace, name, refused.uid)
    return _event(about, f"{refused.uid}/{message}", at, REASON, message, warning=True)


def workload_event(key: str, uid: str, lane: str, news: News) -> dict[str, Any]:
    """The Event for what was decided about a workload; told twice it has the same name."""
    namespace, _, name = key.partition("/")
    identity = f"{uid}/{lane}/{news.sequence}/{news.reason}"
    about = _about("Workload", namespace, name, uid)
    return _event(about, identity, news.at, news.reason, news.message, warning=news.warning)


def failed_create_event(rejected: ProvisioningRejected, uid: str, at: Millis) -> dict[str, Any]:
    """The Event for a request that the API server did not take; for the same reason it is told once."""
    namespace, _, name = rejected.workload.partition("/")
    about = _about("Workload", namespace, name, uid)
    return _event(about, f"{uid}/{rejected.message}", at, "FailedCreate", rejected.message, warning=True)


def pod_event(event: PodAccounted, at: Millis, message: str) -> dict[str, Any]:
    """The Event for a pod that has to go."""
    about = _about("Pod", event.namespace, event.name, event.uid)
    return _event(about, f"{event.uid}/{event.doomed}", at, event.doomed, message, warning=False)


def _about(kind: str, namespace: str, name: str, uid: str) -> dict[str, Any]:
    return {"apiVersion": _API.get(kind, _KUEUE), "kind": kind, "namespace": namespace, "name": name, "uid": uid}


def _event(
    about: dict[str, Any], identity: str, at: Millis, reason: str, message: str, *, warning: bool
) -> dict[str, Any]:
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    time = format_timestamp(at)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{about['name']}.{digest}", "namespace": about["namespace"] or "default"},
        "involvedObject": about,
        "type": "Warning" if warning else "Normal",
        "reason": reason,
        "message": message,
        "source": {"component": "kuelog"},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }
