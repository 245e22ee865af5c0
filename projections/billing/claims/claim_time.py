"""Device-hours: how long claims held devices, by who paid for their quota, by class and by what that counts as.

A device is held from when its claim is seen with it until the claim is gone or has it no more. A share of a device and a
partition count as one device each; access for administrators is free, as it is in quota.

Rule: docs/rules/claims.md#device-hours
"""

from collections.abc import Iterable, Mapping

import msgspec

from events.catalogue import AnyEvent
from events.claims import ResourceClaimObserved
from events.control import ObjectRemoved
from events.device import PodObserved
from events.event import Millis
from events.settings import SettingsObserved
from events.slices import WorkloadSliceDropped, WorkloadSliceReplaced
from events.workload import WorkloadDeleted, WorkloadOwned, WorkloadSubmitted
from projections.billing.claims.device_lines import DeviceLines, HeldDevices
from projections.billing.entries.attempts import Attempt
from projections.billing.entries.entry import Cause, Holder, caused
from projections.billing.entries.ledger_scope import LedgerScope
from projections.claims.counted import counts_claims, resource_of_class
from projections.claims.held_devices import users_of
from projections.log_position import LogPosition
from projections.workloads.slice_chains import SliceChains


class DeviceHours(msgspec.Struct, frozen=True, order=True):
    """What hours of devices are summed up by. Workload and queue are empty where no queue manages the pods."""

    tenant: str
    cluster_queue: str
    workload: str
    job: str
    device_class: str
    resource: str


class _Open(msgspec.Struct, frozen=True):
    began: Cause
    holder: Holder
    held: Mapping[DeviceHours, int]
    """How many devices, by whose and what they are."""
    known: bool
    """Whether any of its pods was seen yet: until then it is not known on whose account it is."""


class ClaimTime:
    """The claims that are there, and how long devices were held within the window, in milliseconds."""

    def __init__(self, scope: LedgerScope) -> None:
        self.sums: dict[DeviceHours, Millis] = {}
        self.lines = DeviceLines(scope)
        """What of it is billed."""
        self._window = scope.window
        self._settings = SettingsObserved()
        self._claims: dict[str, ResourceClaimObserved] = {}
        self._users: dict[str, dict[str, None]] = {}
        """By pod, the claims that it uses."""
        self._workloads: dict[str, str] = {}
        """Of pods, by `namespace/name`, until they are gone and what they used is free."""
        self._gone: dict[str, None] = {}
        """Pods that are gone, while a claim of theirs is still there."""
        self._pods: dict[str, dict[str, None]] = {}
        """The same by workload."""
        self._holders: dict[str, Holder] = {}
        """Of workloads that hold quota or have held some, until they are deleted and their pods are gone."""
        self._deleted: dict[str, None] = {}
        """Workloads that are deleted, while some of their pods are there."""
        self._slices = SliceChains()
        self._open: dict[str, _Open] = {}
        """By claim."""

    def fold(self, event: AnyEvent, position: LogPosition) -> None:
        """Count what an event means for devices that claims hold; most events mean nothing for it."""
        match event:
            case ResourceClaimObserved():
                self._see_claim(event, caused("claim seen", position))
            case PodObserved():
                self._see_pod(event, caused("pod seen", position))
            case ObjectRemoved(kind="ResourceClaim"):
                self._remove_claim(f"{event.namespace}/{event.name}", caused("claim gone", position))
            case ObjectRemoved(kind="Pod"):
                self._remove_pod(f"{event.namespace}/{event.name}")
            case WorkloadSubmitted() | WorkloadOwned():
                self._slices.hear(event)
            case WorkloadSliceReplaced() | WorkloadSliceDropped():
                self._slices.replace(event.workload, event.by)
                for key in tuple(self._pods.get(event.workload, ())):
                    self._belong(key, event.by, caused("slice replaced", position))
            case WorkloadDeleted():
                last = self._slices.concerned(event)
                self._slices.hear(event)
                self._deleted[last] = None
                self._forget(last)
            case SettingsObserved():
                self._use(event, caused("settings changed", position))
            case _:
                pass

    def hold(self, holder: Holder, cause: Cause) -> None:
        """A workload holds quota from now on: what its pods have is on the account of its queue."""
        self.lines.forget(holder.workload)
        self._holders[holder.workload] = holder
        self._deleted.pop(holder.workload, None)
        for key in self._pods.get(holder.workload, ()):
            self._review(key, cause)

    def release(self, attempt: Attempt, position: LogPosition, preemptor_queue: str) -> None:
        """An attempt holds no quota any more; what its pods still have is on its account until they give it up."""
        going_on = bool(self._pods.get(attempt.holder.workload))
        self.lines.release(attempt, position, preemptor_queue, going_on=going_on)

    def finish(self, at: Millis) -> None:
        """Count what goes on, as far as the log reaches; nothing may be folded after that."""
        for key in sorted(self._open):
            self._close(key, None, at)

    def _use(self, settings: SettingsObserved, cause: Cause) -> None:
        self._settings = settings
        for key in sorted(self._claims):
            if counts_claims(settings):
                self._reckon(key, cause)
            else:
                self._remove_claim(key, cause)

    def _see_claim(self, claim: ResourceClaimObserved, cause: Cause) -> None:
        key = f"{claim.namespace}/{claim.name}"
        before = self._claims.get(key)
        self._claims[key] = claim
        pods = _pods_of(claim)
        for pod in pods:
            self._users.setdefault(pod, {})[key] = None
        self._leave(key, [one for one in _pods_of(before) if one not in pods])
        self._reckon(key, cause)

    def _remove_claim(self, key: str, cause: Cause) -> None:
        claim = self._claims.pop(key, None)
        if claim is not None:
            self._close(key, cause)
            self._leave(key, _pods_of(claim))

    def _see_pod(self, pod: PodObserved, cause: Cause) -> None:
        key = f"{pod.namespace}/{pod.name}"
        self._gone.pop(key, None)
        self._belong(key, self._slices.last(pod.workload) if pod.elastic else pod.workload, cause)

    def _remove_pod(self, key: str) -> None:
        if key in self._users:
            self._gone[key] = None  # What its claims hold for a moment longer is on the same account.
        else:
            self._leave_workload(key)

    def _belong(self, pod: str, workload: str, cause: Cause) -> None:
        if self._workloads.get(pod) != workload:
            self._leave_workload(pod)
            self._workloads[pod] = workload
            self._pods.setdefault(workload, {})[pod] = None
            self._review(pod, cause)

    def _leave_workload(self, pod: str) -> None:
        workload = self._workloads.pop(pod, None)
        if workload is not None:
            del self._pods[workload][pod]
            self._forget(workload)

    def _forget(self, workload: str) -> None:
        """Of a workload that is deleted nothing is needed any more when its last pod is gone."""
        if not self._pods.get(workload):
            self._pods.pop(workload, None)
            if workload in self._deleted:
                del self._deleted[workload]
                self._holders.pop(workload, None)
                self.lines.forget(workload)

    def _review(self, pod: str, cause: Cause) -> None:
        for key in self._users.get(pod, ()):
            self._reckon(key, cause)

    def _leave(self, key: str, pods: Iterable[str]) -> None:
        """These pods use a claim no more."""
        for pod in pods:
            users = self._users[pod]
            del users[key]
            if not users:
                del self._users[pod]
                if pod in self._gone:
                    del self._gone[pod]
                    self._leave_workload(pod)

    def _reckon(self, key: str, cause: Cause) -> None:
        claim, open_ = self._claims[key], self._open.get(key)
        workload, of = self._holder_of(claim)
        held, known = self._held(claim, workload, of), any(pod in self._workloads for pod in _pods_of(claim))
        holder = of or Holder(tenant=claim.namespace, workload=workload)
        if open_ is not None and held and known and not open_.known:
            # The claim was seen before its pod: it was that pod's all the time.
            self._open[key] = _Open(open_.began, holder, held, known)
        elif open_ is None or open_.held != held:
            self._close(key, cause)
            if held:
                self._open[key] = _Open(cause, holder, held, known)

    def _holder_of(self, claim: ResourceClaimObserved) -> tuple[str, Holder | None]:
        """Whose a claim is: of several pods that share it, the first's that belongs to a workload; and on whose account that is."""
        workload = next((one for pod in _pods_of(claim) if (one := self._workloads.get(pod))), "")
        return workload, self._holders.get(workload)

    def _held(self, claim: ResourceClaimObserved, workload: str, holder: Holder | None) -> dict[DeviceHours, int]:
        """The devices of a claim, by whose they are."""
        found: dict[DeviceHours, int] = {}
        for device in claim.devices:
            if device.admin:
                continue
            of = DeviceHours(
                tenant=claim.namespace,
                cluster_queue=holder.cluster_queue if holder is not None else "",
                workload=workload,
                job=holder.job if holder is not None else "",
                device_class=device.device_class,
                resource=resource_of_class(self._settings, device.device_class),
            )
            found[of] = found.get(of, 0) + 1
        return found

    def _close(self, key: str, cause: Cause | None, at: Millis = 0) -> None:
        open_ = self._open.pop(key, None)
        if open_ is None:
            return
        until = cause.at if cause is not None else at
        length = self._window.clip(open_.began.at, until)
        for of, count in open_.held.items():
            if length:
                self.sums[of] = self.sums.get(of, 0) + count * length
            self.lines.add(
                HeldDevices(key, of.device_class, of.resource, count), open_.holder, open_.began, cause, until
            )


def _pods_of(claim: ResourceClaimObserved | None) -> list[str]:
    """The pods that use a claim, by `namespace/name`; none of no claim."""
    return [] if claim is None else [f"{claim.namespace}/{name}" for name in users_of(claim)]
