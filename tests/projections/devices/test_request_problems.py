"""What HAMi would drop without a word is told to the user."""

from projections.devices.request_problems import RequestProblem, request_problems


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


def test_nothing_is_said_of_a_request_that_will_be_read_as_it_is_meant() -> None:
    assert request_problems({"nvidia.com/gpumem": 16000, "nvidia.com/gpucores": 50, "cpu": 1000}, {}, {}) == ()
