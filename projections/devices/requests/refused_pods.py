"""Why HAMi's webhook would refuse pods, so that they never come up (docs/rules/devices.md#webhook)."""

from collections.abc import Iterable

from events.pod_set import ContainerShape, PodSet, PodShape
from projections.devices.card_config import HAMI, CardConfig
from projections.devices.requests.admission_rule import HAMI_SCHEDULER, Applicant, judge
from projections.devices.requests.mutation import ContainerRequest


def refused_by_hami(shape: PodShape, config: CardConfig = HAMI) -> str:
    """What the webhook says against a pod of this shape; empty where it says nothing, or does not see it."""
    every = (*shape.init_containers, *shape.containers)
    named = {name for one in every for name in (*one.limits, *one.requests) if name in config.names}
    if not named or shape.unseen_by_hami:
        return ""
    return judge(
        Applicant(
            init_containers=tuple(_asked(one) for one in shape.init_containers),
            containers=tuple(_asked(one) for one in shape.containers),
            privileged=any(one.privileged for one in every),
            annotations=shape.device_annotations,
            scheduler=shape.scheduler_name,
        ),
        {vendor.word: vendor for vendor in config.vendors if not named.isdisjoint(vendor.resources.names())},
        {},
        scheduler=HAMI_SCHEDULER,
        force=True,
        defaults=config.defaults,
    ).message


def refused_pods(pod_sets: Iterable[PodSet], config: CardConfig) -> str:
    """Of which pod set HAMi refuses the pods, and why, in words; empty where it refuses none."""
    for one in pod_sets:
        why = refused_by_hami(one.shape, config)
        if why:
            return f"pods of pod set {one.name} never come up, for HAMi's webhook refuses them: {why}"
    return ""


def _asked(container: ContainerShape) -> ContainerRequest:
    # A request without a limit is not seen by the webhook, but Kubernetes wants both alike for cards.
    return ContainerRequest(limits={**container.requests, **container.limits})
