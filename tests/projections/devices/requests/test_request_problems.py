"""What HAMi would drop without a word is told to the user."""

import pytest

from projections.devices.requests.request_problems import RequestProblem, request_problems


def test_bytes_where_mib_belong_are_told_with_the_number_to_write() -> None:
    assert request_problems({"nvidia.com/gpu": 1, "nvidia.com/gpumem": 16 * 2**30}, {}, {}) == (
        RequestProblem(
            resource="nvidia.com/gpumem",
            message="17179869184 is counted in MiB, more than any card has; for that many bytes write 16384",
        ),
    )


def test_memory_of_a_card_without_a_number_of_cards_is_told() -> None:
    assert request_problems({"hygon.com/dcumem": 1000}, {}, {}) == (
        RequestProblem(
            resource="hygon.com/dcunum",
            message="is not set, so no card is asked for; set hygon.com/dcunum to the number of cards",
        ),
    )


def test_what_the_webhook_would_refuse_is_told() -> None:
    (problem,) = request_problems({"nvidia.com/gpu": 1, "nvidia.com/gpumem-percentage": 150}, {}, {})
    assert problem.message == "nvidia.com/gpumem-percentage is 150; it must lie between 0 and 100"


@pytest.mark.parametrize(
    ("count", "name"),
    [
        ("hygon.com/dcunum", "hygon.com/dcucores"),
        ("cambricon.com/vmlu", "cambricon.com/mlu.smlu.vcore"),
        ("metax-tech.com/sgpu", "metax-tech.com/vcore"),
        ("iluvatar.ai/MR-V100-vgpu", "iluvatar.ai/MR-V100.vCore"),
        ("nvidia.com/gpu", "nvidia.com/gpucores"),
    ],
)
def test_more_cores_than_a_card_has_are_told(count: str, name: str) -> None:
    assert request_problems({count: 1, name: 100}, {}, {}) == ()
    (problem,) = request_problems({count: 1, name: 101}, {}, {})
    assert (problem.resource, problem.message) == (name, "101 is more than the 100 % that a card has")


def test_cores_of_several_cards_together_and_those_that_hami_writes_itself_are_not_more_than_a_card_has() -> None:
    for limits in (
        {"mthreads.com/vgpu": 8},
        {"mthreads.com/vgpu": 8, "mthreads.com/sgpu-core": 128},
        {"iluvatar.ai/MR-V100-vgpu": 2, "iluvatar.ai/MR-V100.vCore": 200},
        {"aws.amazon.com/neuroncore": 128},
    ):
        assert request_problems(limits, {}, {}) == (), limits


def test_nothing_is_said_of_a_request_that_will_be_read_as_it_is_meant() -> None:
    assert request_problems({"nvidia.com/gpumem": 16000, "nvidia.com/gpucores": 50, "cpu": 1000}, {}, {}) == ()


@pytest.mark.parametrize(
    ("asked", "resource"),
    [
        ({"amd.com/gpumem": 8000}, "amd.com/gpu"),
        ({"amd.com/gpucores": 50}, "amd.com/gpu"),
        ({"nvidia.com/gpu": 0, "nvidia.com/gpumem": 8000}, "nvidia.com/gpu"),
        ({"metax-tech.com/sgpu": 0, "metax-tech.com/vcore": 10}, "metax-tech.com/sgpu"),
    ],
)
def test_memory_or_cores_for_which_no_card_would_be_given_are_told(asked: dict[str, int], resource: str) -> None:
    (problem,) = request_problems(asked, {}, {})
    assert problem.resource == resource and "no card is asked for" in problem.message


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "amd.com/gpu", "enflame.com/drs-gcu", "aws.amazon.com/neuron"])
def test_who_writes_that_it_wants_no_card_is_told_nothing_unless_hami_refuses_it(name: str) -> None:
    refused = ["enflame.com/drs-gcu", "aws.amazon.com/neuron"]
    assert [one.resource for one in request_problems({name: 0}, {}, {})] == [one for one in refused if one == name]
