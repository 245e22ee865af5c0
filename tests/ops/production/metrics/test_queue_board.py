"""The board asks only for what is exported, in PromQL that Prometheus takes, and no panel lies over another."""

import json
from pathlib import Path

import pytest

from ops.production.deploy.__main__ import FOLDER
from ops.production.metrics.names import BY_NAME, Whose
from ops.production.metrics.queue_board import PANELS, VARIABLES, Panel, queue_board
from tests.ops.production.metrics.promql import labels_of, metrics, wrong
from tests.ops.production.metrics.test_alert_rules import needs_promtool, promtool, written

EXPRESSIONS = [query.expr for panel in PANELS for query in panel.queries]


@pytest.mark.parametrize("panel", PANELS, ids=lambda one: one.title)
def test_a_panel_asks_for_metrics_that_kueue_has_too_and_labels_that_they_have(panel: Panel) -> None:
    for query in panel.queries:
        assert wrong(query.expr, {}) == []
        names = [name for name, _ in metrics(query.expr)]
        assert names
        for name in names:
            base = name if name in BY_NAME else name.rpartition("_")[0]
            assert (BY_NAME[base].whose, BY_NAME[base].why_not) == (Whose.KUEUE, "")


def test_what_a_legend_names_is_a_label_of_the_answer() -> None:
    for panel in PANELS:
        for query in panel.queries:
            named = {part.partition("}}")[0] for part in query.legend.split("{{")[1:]}
            assert all(named <= set(labels_of(name, {}) or ()) for name, _ in metrics(query.expr)), panel.title


def test_what_one_may_choose_are_labels_of_a_metric_and_every_query_s_choice_is_there() -> None:
    assert all(one.label in BY_NAME[one.metric].labels for one in VARIABLES)
    chosen = {part.partition('"')[0] for expr in EXPRESSIONS for part in expr.split('=~"$')[1:]}
    assert chosen == {one.name for one in VARIABLES}


def test_panels_lie_beside_each_other() -> None:
    places = [(one["gridPos"]["x"], one["gridPos"]["y"]) for one in queue_board()["panels"]]
    assert len(set(places)) == len(places)
    assert all(one["gridPos"]["x"] + one["gridPos"]["w"] <= 24 for one in queue_board()["panels"])
    assert len({one["id"] for one in queue_board()["panels"]}) == len(places)


def test_the_file_is_the_board() -> None:
    found = json.loads((FOLDER / "alerts_and_boards" / "queues.json").read_text())
    assert found == queue_board(), "run python -m ops.production.deploy"


@needs_promtool
def test_promtool_takes_each_query(tmp_path: Path) -> None:
    asked = [
        {"record": f"query_{number}", "expr": expr.replace("$__rate_interval", "5m")}
        for number, expr in enumerate(EXPRESSIONS)
    ]
    path = written(tmp_path, "queries.yaml", {"groups": [{"name": "board", "rules": asked}]})
    assert promtool("check", "rules", path) == ""
