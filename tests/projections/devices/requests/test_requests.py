"""Requests are what HAMi will make of a container, per card."""

import pytest
from msgspec.structs import replace

from events.card import CardRequest
from events.pod_set import ContainerShape, PodShape
from events.quantity import to_units
from projections.devices.requests.card_requests import (
    PodCardRequests,
    asks_for_cards,
    pod_card_requests,
    read_request,
)
from projections.devices.requests.mutation import ContainerRequest, mutate
from projections.devices.requests.request_problems import request_problems
from projections.devices.vendors.table import BY_WORD


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


def test_limits_are_read_before_requests_and_a_request_alone_counts_as_well() -> None:
    container = ContainerShape(
        name="c",
        requests={"nvidia.com/gpu": 1, "nvidia.com/gpumem": 2000, "nvidia.com/gpucores": 10},
        limits={"nvidia.com/gpu": 2, "nvidia.com/gpumem": 1000},
    )
    expected = CardRequest(vendor="NVIDIA", count=2, memory=1000, cores=10)
    assert pod_card_requests(PodShape(containers=(container,))).containers == ((expected,),)
    assert read_request(BY_WORD["NVIDIA"], container.limits, container.requests) == expected


def test_who_asks_for_all_memory_of_a_card_gets_all_of_its_cores() -> None:
    whole = CardRequest(vendor="NVIDIA", count=1, percent=100, cores=100)
    assert requests_of(c={"nvidia.com/gpu": 1, "nvidia.com/gpumem-percentage": 100}) == ((whole,),)
    assert requests_of(c={"nvidia.com/gpu": 1, "nvidia.com/gpumem-percentage": 99}) == (
        (CardRequest(vendor="NVIDIA", count=1, percent=99),),
    )


@pytest.mark.parametrize(
    ("asked", "memory"),
    [(10000, 16384), (16384, 16384), (16385, 32768), (32768, 32768), (32769, 65536), (65536, 65536)],
)
def test_ascend_memory_is_rounded_up_to_a_template(asked: int, memory: int) -> None:
    assert requests_of(c={"huawei.com/Ascend910B3": 1, "huawei.com/Ascend910B3-memory": asked}) == (
        (CardRequest(vendor="Ascend910B3", count=1, memory=memory),),
    )


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ({"": 1}, (2, 65536)),
        ({"": 1, "-memory": 10000}, (2, 16384)),
        ({"": 2}, (2, 65536)),
        ({"": 2, "-memory": 65536}, (2, 65536)),
        ({"": 2, "-memory": 10000}, None),
        ({"": 3}, None),
        ({"": 3, "-memory": 10000}, None),
    ],
)
def test_of_a_super_pod_both_chips_of_a_board_are_given_also_in_parts(
    asked: dict[str, int], given: tuple[int, int] | None
) -> None:
    limits = {f"huawei.com/Ascend910C{name}": amount for name, amount in asked.items()}
    expected = () if given is None else (CardRequest(vendor="Ascend910C", count=given[0], memory=given[1]),)
    assert requests_of(c=limits) == (expected,)


def test_a_chip_that_has_no_pairs_is_given_alone_though_it_is_configured_to_be_of_a_super_pod() -> None:
    lonely = replace(BY_WORD["Ascend910B3"], super_pod=True)
    for vendor, count in ((lonely, 1), (BY_WORD["Ascend910C"], 2)):
        asked = mutate(vendor, ContainerRequest(limits={vendor.resources.count: 1}), {}).asked
        assert (asked.limits[vendor.resources.count], asked.requests.get(vendor.resources.count)) == (count, None)


def test_cambricon_memory_is_counted_in_units_of_256_mib() -> None:
    asked = {"cambricon.com/vmlu": 1, "cambricon.com/mlu.smlu.vmemory": 16, "cambricon.com/mlu.smlu.vcore": 25}
    assert requests_of(c=asked) == ((CardRequest(vendor="MLU", count=1, memory=4096, cores=25),),)


@pytest.mark.parametrize(
    ("written", "memory"),
    [
        ("16", 16384),
        ("1Gi", 1024),
        ("2Gi", 2048),
        ("16Gi", 16384),
        ("512Mi", 512),
        ("64G", 61035),
        ("2047Ti", 2146435072),
    ],
)
def test_memory_of_a_shared_card_of_metax_is_gib_or_bytes_where_it_has_a_suffix(written: str, memory: int) -> None:
    limits = {"metax-tech.com/sgpu": 1, "metax-tech.com/vmemory": to_units("metax-tech.com/vmemory", written)}
    assert requests_of(c=limits) == ((CardRequest(vendor="Metax-SGPU", count=1, memory=memory, cores=100),),)
    assert request_problems(limits, {}, {}) == ()


def test_more_memory_of_metax_than_can_be_counted_asks_for_nothing_and_is_told() -> None:
    limits = {"metax-tech.com/sgpu": 1, "metax-tech.com/vmemory": to_units("metax-tech.com/vmemory", "2Pi")}
    assert requests_of(c=limits) == ((),)
    (problem,) = request_problems(limits, {}, {})
    assert problem.resource == "metax-tech.com/vmemory"


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
