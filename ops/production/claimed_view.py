"""Devices of ResourceSlices as people and programs see them: what is published, and which workload, pod and claim has it."""

import msgspec

from ops.production.cards_view import job_of
from projections.claims.held_devices import DeviceHolder, devices_on_record
from projections.world import World


class ShownHolder(msgspec.Struct, frozen=True, kw_only=True):
    """Who has a device, or a share of one."""

    holder: str
    """The job of a workload as `namespace/name`; `pod:namespace/name` of a pod that no queue manages, or the claim where none is known."""
    workload: str
    pods: tuple[str, ...]
    """`namespace/name`, so that who may not read them is not told (`Redaction`)."""
    claim: str
    device_class: str
    resource: str
    share: str
    consumed: dict[str, str]
    admin: bool


class DeviceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One device. `state` is ok, or in one word what is wrong with it."""

    node: str
    driver: str
    pool: str
    device: str
    state: str
    holders: tuple[ShownHolder, ...]


def device_rows(world: World, *, node: str = "") -> list[DeviceRow]:
    """All devices that are published or held, or those that one node alone reaches."""
    return [
        DeviceRow(
            node=one.node,
            driver=one.place.driver,
            pool=one.place.pool,
            device=one.place.device,
            state="ok" if one.published else "not published",
            holders=tuple(_shown(world, holder) for holder in one.holders),
        )
        for one in devices_on_record(world)
        if not node or one.node == node
    ]


def _shown(world: World, one: DeviceHolder) -> ShownHolder:
    workload = one.workloads[0] if one.workloads else ""
    space = one.claim.partition("/")[0]
    pods = tuple(f"{space}/{name}" for name in one.pods)
    pod = f"pod:{pods[0]}" if pods else f"claim:{one.claim}"
    return ShownHolder(
        holder=job_of(world, workload) if workload else pod,
        workload=workload,
        pods=pods,
        claim=one.claim,
        device_class=one.device_class,
        resource=one.resource,
        share=one.share,
        consumed=one.consumed,
        admin=one.admin,
    )
