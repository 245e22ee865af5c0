"""The lag as metrics from outside: what a HorizontalPodAutoscaler is told, and when it is told nothing."""

import pytest

from ops.production.fold_positions import FoldPosition, FoldPositions
from ops.production.visibility.access import attributes_of
from ops.production.visibility.api import Visibility
from ops.production.visibility.lag_metrics import METRIC, LagMetrics
from ops.production.visibility.server import serving
from tests.ops.production.visibility.test_api import Shown, ask, waiting_world

BASE = "/apis/external.metrics.k8s.io/v1beta1"
BEHIND = FoldPosition(partition="LOG_0", stream="FACTS", folded=3, last=9, age=12_500)
WHOLE = FoldPosition(partition="LOG_1", stream="LOG_1", folded=4, last=4)
UNKNOWN = FoldPosition(partition="LOG_1", stream="FACTS", folded=4)


async def told(path: str, *positions: FoldPosition) -> tuple[int, str]:
    async def now() -> FoldPositions:
        return FoldPositions(positions=positions)

    async with serving(Visibility(Shown(waiting_world()), lag=LagMetrics(now, lambda: 5_000)), "127.0.0.1", 0) as port:
        status, answer = await ask(port, f"{BASE}{path}")
    return status, answer["items"][0]["value"] if status == 200 else answer["message"]


@pytest.mark.parametrize(
    ("selector", "status", "says"),
    [
        ("", 200, "12500m"),
        ("?labelSelector=partition%3DLOG_1", 200, "0m"),
        ("?labelSelector=partition%3DLOG_0,stream%3DFACTS", 200, "12500m"),
        ("?labelSelector=queue%3Da", 400, "write partition=NAME or stream=NAME"),
        ("?labelSelector=partition%3DLOG_7", 503, "does not say"),
    ],
)
async def test_the_largest_lag_of_what_is_meant_is_told_in_any_namespace(selector: str, status: int, says: str) -> None:
    found = await told(f"/namespaces/team/{METRIC}{selector}", BEHIND, WHOLE)
    assert found[0] == status and says in found[1]


async def test_what_the_bus_does_not_say_is_no_lag_of_nothing() -> None:
    assert (await told(f"/namespaces/team/{METRIC}", WHOLE, UNKNOWN))[0] == 503
    assert (await told(f"/namespaces/team/{METRIC}"))[0] == 503


async def test_there_is_one_metric_and_it_is_served_only_where_that_was_chosen() -> None:
    assert (await told("/namespaces/team/other", WHOLE))[0] == 404
    async with serving(Visibility(Shown(waiting_world())), "127.0.0.1", 0) as port:
        assert (await ask(port, f"{BASE}/namespaces/team/{METRIC}"))[0] == 404
        assert len((await ask(port, "/apis"))[1]["groups"]) == 1


def test_who_asks_for_the_metric_needs_the_right_to_list_it() -> None:
    parts = f"{BASE}/namespaces/team/{METRIC}".split("/")[2:]
    assert attributes_of(parts)["resourceAttributes"] == {
        "verb": "list",
        "group": "external.metrics.k8s.io",
        "version": "v1beta1",
        "resource": METRIC,
        "namespace": "team",
    }
