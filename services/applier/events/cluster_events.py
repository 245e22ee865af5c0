"""Kubernetes Events on Workloads, jobs, pods and refused objects: what each says and under which name; pure."""

import hashlib
from typing import get_args

import msgspec

from events.configuration import KUEUE_API
from events.control import ObjectRefused
from events.event import Millis
from events.json_object import JsonObject
from events.provisioning import ProvisioningRejected
from events.quota import ConfigurationFact
from events.timestamp import format_timestamp
from events.workload import Member, Owner
from projections.configuration import refused_because
from projections.workloads.in_cluster import News
from services.jobs.kinds.table import KINDS, SERVING

REFUSED, NOT_COMPOSED = "Refused", "ErrWorkloadCompose"
"""Why an object can't be understood: any other one, and a job that makes no workload."""
_JOBS = {kind.place: f"{kind.group}/{kind.versions[0]}".removeprefix("/") for kind in (*KINDS, *SERVING.values())}
_API = {
    **_JOBS,
    "Node": "v1",
    "ResourceQuota": "v1",
    "ConfigMap": "v1",
    **{one.kind: one.api_version for one in get_args(ConfigurationFact)},
}


class ClusterEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An Event that may be written. Two with the same UID, reason and identity are the same and get the same name."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    identity: str
    at: Millis
    reason: str
    message: str
    warning: bool = False

    @property
    def digest(self) -> bytes:
        """What tells it from all others."""
        return hashlib.sha256(f"{self.uid}/{self.identity}/{self.reason}".encode()).digest()[:_DIGEST]


def event_of(notice: ClusterEvent) -> JsonObject:
    """The Event object (core/v1), in the namespace of the object it is about."""
    about = {
        "apiVersion": notice.api_version,
        "kind": notice.kind,
        "namespace": notice.namespace,
        "name": notice.name,
        "uid": notice.uid,
    }
    time = format_timestamp(notice.at)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{notice.name}.{notice.digest.hex()}", "namespace": notice.namespace or "default"},
        "involvedObject": about,
        "type": "Warning" if notice.warning else "Normal",
        "reason": notice.reason,
        "message": notice.message[:_LONGEST],
        "source": {"component": "kuelog"},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


_DIGEST = 8
_LONGEST = 1024
"""The API server takes no longer message."""


def refusal_event(refused: ObjectRefused, at: Millis) -> ClusterEvent:
    """The Event on an object that was refused because it can't be understood."""
    message = refused_because(refused)
    kind, name = ("Pod", refused.pod) if refused.pod else (refused.kind, refused.name)
    return ClusterEvent(
        api_version=_API.get(kind, KUEUE_API),
        kind=kind,
        namespace=refused.namespace,
        name=name,
        uid=refused.uid,
        identity=message,
        at=at,
        reason=refused.reason or (NOT_COMPOSED if refused.kind in _JOBS else REFUSED),
        message=message,
        warning=True,
    )


def workload_event(key: str, uid: str, partition: str, news: News) -> ClusterEvent:
    """The Event on a Workload about a decision: several of a reason where it has several, but one warning however it is worded."""
    identity = f"{partition}/{news.sequence}" + ("" if news.warning else f"/{news.message}")
    return _about_workload(key, uid, identity, news.at, news.reason, news.message, warning=news.warning)


def failed_create_event(rejected: ProvisioningRejected, uid: str, at: Millis) -> ClusterEvent:
    """The Event on a Workload whose ProvisioningRequest the API server did not accept."""
    message = rejected.message
    return _about_workload(rejected.workload, uid, message, at, "FailedCreate", message, warning=True)


def pod_event(
    namespace: str, name: str, uid: str, at: Millis, reason: str, message: str, *, warning: bool = False
) -> ClusterEvent:
    """The Event on a pod that has to go: one of each reason."""
    return ClusterEvent(
        api_version="v1",
        kind="Pod",
        namespace=namespace,
        name=name,
        uid=uid,
        identity="",
        at=at,
        reason=reason,
        message=message,
        warning=warning,
    )


def job_event(
    namespace: str, owner: Owner, identity: str, at: Millis, reason: str, message: str, *, member: Member | None
) -> ClusterEvent:
    """The Event on a job, or on a pod of a group without a job, that was started, stopped or ended."""
    return ClusterEvent(
        api_version="v1" if member is not None else owner.api_version,
        kind="Pod" if member is not None else owner.kind,
        namespace=namespace,
        name=member.name if member is not None else owner.name,
        uid=member.uid if member is not None else owner.uid,
        identity=identity,
        at=at,
        reason=reason,
        message=message,
    )


def _about_workload(
    key: str, uid: str, identity: str, at: Millis, reason: str, message: str, *, warning: bool
) -> ClusterEvent:
    namespace, _, name = key.partition("/")
    return ClusterEvent(
        api_version=KUEUE_API,
        kind="Workload",
        namespace=namespace,
        name=name,
        uid=uid,
        identity=identity,
        at=at,
        reason=reason,
        message=message,
        warning=warning,
    )
