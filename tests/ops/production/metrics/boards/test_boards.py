"""Boards ask only for what is there, in PromQL that Prometheus takes; on what is exported no panel stays empty, nor lies over another."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.core import Metric

from ops.production.deploy.__main__ import FOLDER
from ops.production.deploy.monitoring import BOARDS
from ops.production.metrics.boards.board import Board, Panel, Shape
from ops.production.metrics.boards.queues import QUEUES
from ops.production.metrics.names import BY_NAME, MONITOR, Whose
from tests.ops.production.metrics.promql import labels_of, metrics, wrong
from tests.ops.production.metrics.test_alert_rules import Series, needs_promtool, promtool, up, written
from tests.ops.production.metrics.test_names import everything, families

PANELS = [(board, panel) for board in BOARDS for panel in board.panels]
OF_PROMETHEUS: dict[str, tuple[str, ...]] = {"ALERTS": ("alertname", "severity", "alertstate")}
OTHERS: Series = {
    'hami_host_gpu_memory_used_bytes{device_uuid="MIG-0"}': up(1),
    'hami_host_gpu_utilization_ratio{device_uuid="MIG-0"}': "7x240",
    'hami_vgpu_memory_used_bytes{namespace="team",pod="p",container="c",vdevice_index="0",device_uuid="MIG-0"}': up(1),
    'hami_vgpu_memory_limit_bytes{namespace="team",pod="p",container="c",vdevice_index="0",device_uuid="MIG-0"}': up(9),
    'ALERTS{alertname="KuelogDown",severity="critical",alertstate="firing"}': "1x240",
}
"""What others export: HAMi's node monitor, and Prometheus itself."""
IN_TROUBLE: Series = {
    'kuelog_partition_halted{partition="LOG_0",reason="message"}': "1x240",
    'kuelog_failing{partition="LOG_0",who="admitter"}': "1x240",
    'kuelog_set_aside{service="admitter",scope="workload"}': "1x240",
    'kuelog_amiss_messages{stream="FACTS",what="author",author="x"}': "1x240",
    'kuelog_quarantined_messages{stream="FACTS"}': "1x240",
    'kuelog_given_back_messages{stream="FACTS"}': "1x240",
    'kuelog_card_state{node="n",device_uuid="GPU-0",state="unhealthy"}': "1x240",
    'kuelog_drift{kind="Stale"}': "1x240",
    'kuelog_preemptions_wasted_total{preempting_cluster_queue="q",reason="InClusterQueue"}': up(1),
    'kuelog_outbox_lag_seconds{service="watcher"}': "1x240",
}
"""What is exported only where something is wrong, or by services that do not run in the story."""
END = 100
SOMETHING = {"labels": "{}", "value": 1}


def named(one: Any) -> str:
    return one.name if isinstance(one, Board) else one.title


def told_by(name: str) -> str:
    """The metric of a name in a query, which of a histogram is one of its parts."""
    return name if name in BY_NAME else name.rpartition("_")[0]


@pytest.mark.parametrize(("board", "panel"), PANELS, ids=named)
def test_a_panel_asks_for_metrics_that_are_there_and_labels_that_they_have(board: Board, panel: Panel) -> None:
    for query in panel.queries:
        assert wrong(query.expr, OF_PROMETHEUS) == []
        names = [name for name, _ in metrics(query.expr)]
        assert names
        for metric in (BY_NAME[told_by(name)] for name in names if name not in OF_PROMETHEUS):
            assert metric.why_not in ("", MONITOR), f"{metric.name} is not exported"
            assert board is not QUEUES or metric.whose is Whose.KUEUE, "it shows a cluster of Kueue's as well"


@pytest.mark.parametrize(("board", "panel"), PANELS, ids=named)
def test_what_a_legend_names_is_a_label_of_the_answer(board: Board, panel: Panel) -> None:
    del board
    for query in panel.queries:
        legend = {part.partition("}}")[0] for part in query.legend.split("{{")[1:]} - {"instance"}
        assert all(legend <= set(labels_of(name, OF_PROMETHEUS) or ()) for name, _ in metrics(query.expr))


@pytest.mark.parametrize("board", BOARDS, ids=named)
def test_what_one_may_choose_are_labels_of_a_metric_and_every_query_s_choice_is_there(board: Board) -> None:
    assert all(one.label in BY_NAME[one.metric].labels for one in board.variables)
    expressions = [query.expr for panel in board.panels for query in panel.queries]
    chosen = {part.partition('"')[0] for expr in expressions for part in expr.split('=~"$')[1:]}
    assert chosen == {one.name for one in board.variables}


@pytest.mark.parametrize("board", BOARDS, ids=named)
def test_panels_lie_beside_each_other_and_the_file_is_the_board(board: Board) -> None:
    model = board.model()
    places = [(one["gridPos"]["x"], one["gridPos"]["y"]) for one in model["panels"]]
    assert len(set(places)) == len(places) == len({one["id"] for one in model["panels"]})
    assert all(one["gridPos"]["x"] + one["gridPos"]["w"] <= 24 for one in model["panels"])
    assert all(one["title"] and one["fieldConfig"]["defaults"]["unit"] for one in model["panels"])
    found = json.loads((FOLDER / "alerts_and_boards" / f"{board.name}.json").read_text())
    assert found == model, "run python -m ops.production.deploy"
    assert len({one.name for one in BOARDS}) == len(BOARDS)


def recorded(told: dict[str, Metric]) -> Series:
    """What is exported of a story, as a Prometheus would have recorded it: gauges stay, all else grows."""
    found = {**OTHERS, **IN_TROUBLE}
    for family in told.values():
        for sample in family.samples:
            labels = ",".join(f"{name}={json.dumps(text)}" for name, text in sorted(sample.labels.items()))
            # promtool reads neither what is unlimited nor a share that is no number.
            if family.type == "gauge" and abs(sample.value) < float("inf"):
                found[f"{sample.name}{{{labels}}}"] = f"{sample.value:f}x240"
            elif family.type in ("counter", "histogram"):
                found[f"{sample.name}{{{labels}}}"] = up(max(sample.value, 0))
    return found


@needs_promtool
def test_every_query_has_an_answer_on_what_is_exported(tmp_path: Path) -> None:
    series = recorded(families(everything()))
    tests: list[dict[str, object]] = []
    for query in (query for _, panel in PANELS for query in panel.queries):
        chosen = re.sub(r'"\$\w+"', '".*"', query.expr).replace("$__rate_interval", "5m")
        tests.append({"expr": f"count({chosen}) > bool 0", "eval_time": f"{END}m", "exp_samples": [SOMETHING]})
    story = {
        "interval": "1m",
        "input_series": [{"series": one, "values": values} for one, values in series.items()],
        "promql_expr_test": tests,
    }
    path = tmp_path / "boards-test.yaml"
    path.write_text(yaml.safe_dump({"evaluation_interval": "1m", "tests": [story]}, sort_keys=False))
    assert promtool("test", "rules", path) == ""


@needs_promtool
def test_promtool_takes_each_query(tmp_path: Path) -> None:
    asked = [
        {"record": f"query_{number}", "expr": query.expr.replace("$__rate_interval", "5m")}
        for number, query in enumerate(query for _, panel in PANELS for query in panel.queries)
    ]
    path = written(tmp_path, "queries.yaml", {"groups": [{"name": "board", "rules": asked}]})
    assert promtool("check", "rules", path) == ""


@needs_promtool
def test_waits_are_counted_once_however_many_replicas_tell_of_them(tmp_path: Path) -> None:
    [panel] = [one for one in QUEUES.panels if one.shape is Shape.HEAT]
    [query] = panel.queries
    expr = query.expr.replace('"$cluster_queue"', '".*"').replace("$__rate_interval", "5m")
    bucket = "kueue_admission_wait_time_seconds_bucket"
    series = {
        f'{bucket}{{cluster_queue="{queue}",priority_class="",le="1",instance="{replica}"}}': up(10)
        for queue in ("q", "r")
        for replica in ("a", "b")
    }
    story = {
        "interval": "1m",
        "input_series": [{"series": one, "values": values} for one, values in series.items()],
        "promql_expr_test": [
            {"expr": expr, "eval_time": f"{END}m", "exp_samples": [{"labels": '{le="1"}', "value": 2 * 50}]}
        ],
    }
    path = written(tmp_path, "heat-test.yaml", {"evaluation_interval": "1m", "tests": [story]})
    assert promtool("test", "rules", path) == ""
