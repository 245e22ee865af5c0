"""Which pods HAMi's webhook would refuse is known before any of them is made."""

import pytest
from msgspec.structs import replace

from events.pod_set import ContainerShape, PodShape
from projections.devices.requests.refused_pods import refused_by_hami

NVIDIA, ASCEND, MTHREADS = "nvidia.com/gpu", "huawei.com/Ascend910B3", "mthreads.com/vgpu"


def pod(privileged: bool = False, **limits: int) -> PodShape:
    return PodShape(containers=(ContainerShape(name="c", limits=limits, privileged=privileged),))


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({ASCEND: 2, f"{ASCEND}-memory": 16384}, "huawei.com/Ascend910B3 is 2; only whole cards go together"),
        ({ASCEND: 1, f"{ASCEND}-memory": 70000}, "huawei.com/Ascend910B3-memory is 70000; a card has 65536 MiB"),
        ({ASCEND: 1, f"{ASCEND}-core": 10}, "huawei.com/Ascend910B3-core needs the annotation"),
        ({NVIDIA: 1, "nvidia.com/gpumem-percentage": 150}, "it must lie between 0 and 100"),
        ({MTHREADS: 1, "mthreads.com/sgpu-memory": 3}, "one of 2, 4, 8"),
        ({"amd.com/gpu": 1, "amd.com/gpucores": 0}, "it must lie between 1 and 100"),
        ({"aws.amazon.com/neuroncore": 3}, "1, or a multiple of what a device has"),
    ],
)
def test_amounts_that_hamis_webhook_refuses_are_named_in_whatever_container(limits: dict[str, int], why: str) -> None:
    shape = pod(**limits)
    assert why in refused_by_hami(shape)
    beside = replace(shape, containers=(*pod(**{NVIDIA: 1}).containers, *shape.containers))
    assert refused_by_hami(beside) == refused_by_hami(shape)
    first = replace(beside, init_containers=shape.containers, containers=beside.containers[:1])
    assert refused_by_hami(first) == refused_by_hami(shape)


def test_a_privileged_container_is_refused_where_any_container_has_cards() -> None:
    beside = PodShape(containers=(*pod(privileged=True).containers, *pod(**{NVIDIA: 1}).containers))
    assert refused_by_hami(beside) == refused_by_hami(pod(privileged=True, **{NVIDIA: 1}))
    assert "privileged" in refused_by_hami(beside)
    before = replace(pod(**{NVIDIA: 1}), init_containers=pod(privileged=True).containers)
    assert refused_by_hami(before) == refused_by_hami(beside)
    assert refused_by_hami(pod(privileged=True)) == ""


def test_what_hami_can_give_or_only_cannot_read_is_not_refused() -> None:
    assert refused_by_hami(pod(**{NVIDIA: 1})) == ""
    assert refused_by_hami(pod(**{ASCEND: 2, f"{ASCEND}-memory": 65536})) == ""
    assert refused_by_hami(pod(**{NVIDIA: 1, "nvidia.com/gpumem": 20 << 30})) == ""


@pytest.mark.parametrize(
    ("scheduler", "seen"), [("", True), ("default-scheduler", True), ("hami-scheduler", True), ("volcano", False)]
)
def test_pods_that_hami_does_not_see_are_refused_by_nobody(scheduler: str, *, seen: bool) -> None:
    shape = replace(pod(privileged=True, **{NVIDIA: 1}), scheduler_name=scheduler)
    assert bool(refused_by_hami(shape)) == seen
    assert refused_by_hami(replace(shape, unseen_by_hami=True)) == ""
