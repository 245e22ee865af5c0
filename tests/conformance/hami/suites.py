"""Which function checks which kind of recorded HAMi cases."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.conformance.hami import cards, nodes
from tests.conformance.hami.scope import why_not
from tests.conformance.runner import Suite

Case = dict[str, Any]

CHECKS: dict[str, Callable[[Case], str | None]] = {
    "add_usage": cards.add_usage,
    "check_type": cards.check_type,
    "check_uuid": cards.check_uuid,
    "device_less": cards.device_less,
    "device_score": cards.device_score,
    "device_sort": cards.device_sort,
    "calc_score": nodes.calc_score,
    "fit_in_devices": nodes.fit_in_devices,
    "node_default_score": nodes.node_default_score,
    "node_override_score": nodes.node_override_score,
    "score_node": nodes.score_node,
    "fit": cards.fit,
    "mig_can_place": cards.mig_can_place,
    "mig_candidate": cards.mig_candidate,
    "mig_placement": cards.mig_placement,
    "parse_weights": cards.weights,
}


def hami_suite(path: Path, document: dict[str, Any]) -> Suite:
    """The suite in one file."""
    kind = document["kind"]
    return Suite(
        name=path.stem,
        path=path,
        cases=[(case["name"], case) for case in document["cases"]],
        check=CHECKS.get(kind),
        why_not=partial(why_not, kind),
    )
