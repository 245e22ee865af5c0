"""What a question about another world answers can be read."""

import pytest

from ops.cli.questions.whatif import used_on_average


@pytest.mark.parametrize(
    ("resource", "thousandths", "text"),
    [
        ("cpu", 532_144_000, "532.144"),
        ("memory", 1_500 << 30, "1.500 Gi"),
        ("nvidia.com/gpu", 1_019, "1.019"),
        ("nvidia.com/gpumem", 32_768_000, "32768.000"),
    ],
)
def test_use_is_told_in_the_units_in_which_quota_is_written(resource: str, thousandths: int, text: str) -> None:
    assert used_on_average(resource, thousandths) == text
