"""In which order cards are tried."""

from projections.devices.fit.score import card_order


def test_a_policy_that_is_named_again_and_again_orders_as_it_does_once() -> None:
    again = card_order(",".join(["binpack", "numa"] * 1000), numa_bind=False)
    assert again(7, 1, 2, 3) == card_order("binpack,numa", numa_bind=False)(7, 1, 2, 3) == (7, 2, 3)
    assert card_order("spread,numa,spread", numa_bind=True)(7, 1, 2, 3) == (2, -7, 3)
