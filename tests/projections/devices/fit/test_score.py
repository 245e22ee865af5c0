"""In which order cards are tried."""

from events.card import Card, CardRequest
from projections.devices.card_use import CardUse, NodeCards
from projections.devices.fit.score import card_order
from tests.projections.devices.makers import fit_pod


def test_a_policy_that_is_named_again_and_again_orders_as_it_does_once() -> None:
    again = card_order(",".join(["binpack", "numa"] * 1000), numa_bind=False)
    assert again(7, 1, 2, 3) == card_order("binpack,numa", numa_bind=False)(7, 1, 2, 3) == (7, 2, 3)
    assert card_order("spread,numa,spread", numa_bind=True)(7, 1, 2, 3) == (2, -7, 3)


def test_a_request_counts_in_the_score_of_a_card_whose_model_is_the_bare_vendor_word_and_of_no_other() -> None:
    request = CardRequest(vendor="NVIDIA", count=1, memory=8000)
    for model, fullest in (("NVIDIA", "small"), ("NVIDIA-A100", "large")):
        small = Card(uuid="small", index=1, slots=10, memory=10000, model=model)
        large = Card(uuid="large", index=0, slots=10, memory=40000, model=model)
        on = NodeCards(
            node="n", cards=(small, large), used={"small": CardUse(1, 1000, 0), "large": CardUse(1, 6000, 0)}
        )
        fit = fit_pod(on, [request], 0, {"hami.io/gpu-scheduler-policy": "binpack"})
        assert fit.shares is not None and fit.shares[0][0].uuid == fullest
