"""What annotations that steer the choice of cards say, as HAMi reads them."""

import pytest

from projections.devices.annotations.steering import BadWeights, parse_weights


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("slot=1, core=2 ,memory=0", (1, 2, 0)),
        ("slot=+1,core=-0,memory=007", (1, 0, 7)),
        ("memory=9223372036854775807,slot=0,core=0", (0, 0, 2**63 - 1)),
        ("memory=9223372036854775808,slot=0,core=0", None),
        ("slot=1_0,core=1,memory=1", None),
        ("slot=1,core=-1,memory=1", None),
        ("slot=1,core=1,memory=1,", None),
        ("slot=0,core=0,memory=0", None),
        (f"slot={'9' * 5000},core=1,memory=1", None),
        (f"slot={'0' * 5000}1,core=1,memory=1", (1, 1, 1)),
    ],
)
def test_scoring_weights_are_read_as_hami_reads_them(text: str, read: tuple[int, int, int] | None) -> None:
    if read is None:
        with pytest.raises(BadWeights):
            parse_weights(text)
    else:
        found = parse_weights(text)
        assert (found.slot, found.core, found.memory) == read
