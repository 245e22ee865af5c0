"""Requests are what HAMi will make of a container, per card."""

from events.card import CardRequest
from events.pod_set import ContainerShape, PodShape
from projections.devices.requests.card_requests import PodCardRequests, asks_for_cards, pod_card_requests


def requests_of(**named: dict[str, int]) -> tuple[tuple[CardRequest, ...], ...]:
    containers = tuple(ContainerShape(name=name, limits=limits) for name, limits in named.items())
    return pod_card_requests(PodShape(containers=containers)).containers


def test_a_card_without_memory_or_cores_is_a_whole_card_for_itself() -> None:
    assert requests_of(c={"nvidia.com/gpu": 2}) == ((CardRequest(vendor="NVIDIA", count=2, percent=100, cores=100),),)


def test_memory_without_a_count_asks_for_one_card_and_reserves_no_cores() -> None:
    assert requests_of(c={"nvidia.com/gpumem": 4000}) == ((CardRequest(vendor="NVIDIA", count=1, memory=4000),),)


def test_a_percentage_is_kept_until_the_card_is_known() -> None:
    assert requests_of(c={"nvidia.com/gpu": 1, "nvidia.com/gpumem-percentage": 33}) == (
        (CardRequest(vendor="NVIDIA", count=1, percent=33),),
    )


def test_ascend_memory_is_rounded_up_to_a_template() -> None:
    assert requests_of(c={"huawei.com/Ascend910B3": 1, "huawei.com/Ascend910B3-memory": 10000}) == (
        (CardRequest(vendor="Ascend910B3", count=1, memory=16384),),
    )


def test_cambricon_memory_is_counted_in_units_of_256_mib() -> None:
    asked = {"cambricon.com/vmlu": 1, "cambricon.com/mlu.smlu.vmemory": 16, "cambricon.com/mlu.smlu.vcore": 25}
    assert requests_of(c=asked) == ((CardRequest(vendor="MLU", count=1, memory=4096, cores=25),),)


def test_a_container_may_ask_for_cards_of_two_vendors() -> None:
    asked = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1000, "hygon.com/dcunum": 1}
    assert requests_of(c=asked) == (
        (
            CardRequest(vendor="DCU", count=1, percent=100, cores=100),
            CardRequest(vendor="NVIDIA", count=1, memory=1000),
        ),
    )


def test_a_pod_of_plain_containers_asks_for_no_cards() -> None:
    assert not asks_for_cards(PodShape(containers=(ContainerShape(name="c", limits={"cpu": 1000}),)))


def test_init_containers_come_first_and_are_counted() -> None:
    one = ContainerShape(name="i", limits={"nvidia.com/gpumem": 100})
    two = ContainerShape(name="c", limits={})
    assert pod_card_requests(PodShape(containers=(two,), init_containers=(one,))) == PodCardRequests(
        ((CardRequest(vendor="NVIDIA", count=1, memory=100),), ()),
        1,
    )
