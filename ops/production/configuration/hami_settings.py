"""What the configuration file says of HAMi: where its own configuration is, and the options of its scheduler."""

from typing import Literal

import msgspec

from events.settings import HamiSettings
from projections.devices.annotations.steering import CARD_POLICIES

_PLAIN = HamiSettings()


class HamiPart(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The part `kuelog.hami`; policies under the names of HAMi's chart."""

    namespace: str = _PLAIN.namespace
    """Where its ConfigMaps are."""
    device_config: str = _PLAIN.device_config
    """The ConfigMap with the names of resources and the chips; empty to read none."""
    node_config: str = _PLAIN.node_config
    """The ConfigMap with what single nodes register otherwise; empty to read none."""
    node_scheduler_policy: Literal["binpack", "spread"] = "binpack"
    """Its option `--node-scheduler-policy`, for pods that do not say."""
    gpu_scheduler_policy: str = _PLAIN.card_policy
    """Its option `--gpu-scheduler-policy`: one policy, or several with commas between."""


def hami_settings(part: HamiPart) -> HamiSettings:
    """The settings. Raises `ValueError` naming the field that is wrong."""
    words = [word.strip() for word in part.gpu_scheduler_policy.split(",")]
    wrong = [word for word in words if word not in CARD_POLICIES]
    if wrong:
        allowed = f"write {', '.join(CARD_POLICIES)}, or several of them with commas between"
        raise ValueError(f"kuelog.hami.gpuSchedulerPolicy: {wrong[0]!r} is no policy: {allowed}")
    return HamiSettings(
        namespace=part.namespace,
        device_config=part.device_config,
        node_config=part.node_config,
        node_policy=part.node_scheduler_policy,
        card_policy=",".join(words),
    )
