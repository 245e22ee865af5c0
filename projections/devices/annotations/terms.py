"""What a pod lays down for the cards of one vendor, read once from its annotations (docs/rules/devices.md#steering)."""

from collections.abc import Mapping

import msgspec

from events.go_bool import as_bool
from projections.devices.annotations.allocated_cards import CARD_POLICY, names_in
from projections.devices.annotations.steering import MUTEX, TOPOLOGY, Choice, model_choice, uuid_choice
from projections.devices.namespace_quota import NO_QUOTA, QuotaRoom
from projections.devices.vendors.vendor import Vendor

NUMA_BIND = "nvidia.com/numa-bind"
MODES = "nvidia.com/vgpu-mode"
SOFT_SPLIT_POD = "huawei.com/vnpu-mode"
SOFT_SPLIT = "hami-core"
QUALITY, CLASS = "metax-tech.com/sgpu-qos-policy", "metax-tech.com/sgpu-app-class"
LINKED = "metax-tech.com/sgpu-topology-aware"
BEST_EFFORT, FIXED_SHARE, BURST_SHARE = "best-effort", "fixed-share", "burst-share"
ONLINE, OFFLINE = "online", "offline"


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod lays down for the cards of one vendor, read once from its annotations."""

    vendor: Vendor
    policy: str = ""
    uuids: Choice = Choice()
    models: Choice = Choice()
    modes: str | None = None
    """The modes of sharing that it takes, as it names them; None where it names none."""
    mutex: bool = False
    numa_bind: bool = False
    topology: bool = False
    soft_split: bool = False
    room: QuotaRoom = NO_QUOTA
    quality: str = ""
    """The quality of service that it asks for, where cards have one."""
    tenant: str = ""
    """The class of work that it is, where it says so."""
    linked: bool = False
    """It wants a node by the links among whole cards that it would get there."""

    def takes_mode(self, mode: str) -> bool:
        """Whether the pod takes cards that are shared in this mode."""
        return self.modes is None or mode in self.modes


def terms_of(
    vendor: Vendor, annotations: Mapping[str, str], *, default_policy: str = "", room: QuotaRoom = NO_QUOTA
) -> Terms:
    """The terms of a pod for one vendor."""
    rules = vendor.rules
    policy = annotations.get(CARD_POLICY, default_policy)
    words = names_in(policy)
    return Terms(
        vendor=vendor,
        policy=policy,
        uuids=uuid_choice(annotations, vendor.use_uuid, vendor.avoid_uuid).and_those_of(
            uuid_choice(annotations, vendor.also_use_uuid, vendor.also_avoid_uuid)
        ),
        models=model_choice(annotations, vendor.use_model, vendor.avoid_model) if vendor.use_model else Choice(),
        modes=annotations.get(MODES) if rules.modes else None,
        mutex=MUTEX in words,
        numa_bind=bool(as_bool(annotations.get(NUMA_BIND))),
        topology=rules.topology and TOPOLOGY in words,
        soft_split=rules.soft_split and annotations.get(SOFT_SPLIT_POD) == SOFT_SPLIT,
        room=room,
        quality=annotations.get(QUALITY, BEST_EFFORT) if rules.classes else "",
        tenant=annotations.get(CLASS, "") if rules.classes else "",
        linked=rules.classes and _wants_links(annotations.get(LINKED, ""), by_default=vendor.linked),
    )


def _wants_links(text: str, *, by_default: bool) -> bool:
    """What a pod says; what HAMi can't read says nothing."""
    said = as_bool(text)
    return by_default if said is None else said
