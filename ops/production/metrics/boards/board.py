"""A board for Grafana: panels with what each asks Prometheus, and what one may choose, as Grafana imports them."""

from enum import StrEnum

import msgspec

from events.json_object import JsonObject
from ops.production.metrics.alert_rules import once, quantile, total

RATE = "$__rate_interval"
"""How far back a rate looks, which Grafana knows by the scrape interval."""
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _HEIGHT, _WHOLE = 12, 8, 24
_SCHEMA = 39
"""The version of Grafana's model of boards: that of Grafana 10.4, which later ones convert."""


class Shape(StrEnum):
    """How a panel is drawn, in Grafana's words."""

    SERIES = "timeseries"
    TABLE = "table"
    HEAT = "heatmap"
    STAT = "stat"


class PanelQuery(msgspec.Struct, frozen=True):
    """What is asked, and what each answer is called."""

    expr: str
    legend: str = ""


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One panel of a board: its queries and how they are drawn."""

    title: str
    queries: tuple[PanelQuery, ...]
    unit: str = "short"
    shape: Shape = Shape.SERIES
    stacked: bool = False
    below_zero: bool = False
    """Whether what is shown may be less than nothing."""
    note: str = ""


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """What one may choose: the values that a label of a metric has."""

    name: str
    metric: str
    label: str


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """Panels that are looked at together."""

    name: str
    """Of its file, and in its uid."""
    title: str
    panels: tuple[Panel, ...]
    variables: tuple[Variable, ...] = ()
    tags: tuple[str, ...] = ("kuelog",)

    def model(self) -> JsonObject:
        """The board as Grafana imports it."""
        return {
            "uid": f"kuelog-{self.name}",
            "title": self.title,
            "tags": list(self.tags),
            "schemaVersion": _SCHEMA,
            "editable": True,
            "refresh": "1m",
            "time": {"from": "now-6h", "to": "now"},
            "templating": {"list": [_datasource(), *(_variable(one) for one in self.variables)]},
            "panels": [_panel(number, one) for number, one in enumerate(self.panels)],
        }


def rate(name: str, *labels: str, selector: str = "", times: str = "") -> str:
    """How often something happens a second, or `times` that, by some of its labels; each series once."""
    return total(name, *labels, selector=selector, over=f"rate[{RATE}]") + times


def quantiles(name: str, *labels: str, legend: str, selector: str = "") -> tuple[PanelQuery, ...]:
    """The median of a histogram, and how long one in twenty and one in a hundred takes at least."""
    return tuple(
        PanelQuery(quantile(of, name, *labels, span=RATE, selector=selector), f"p{of[2:]} {legend}".rstrip())
        for of in ("0.50", "0.95", "0.99")
    )


def each(name: str, legend: str, selector: str = "") -> PanelQuery:
    """A metric as it is, each series once."""
    return PanelQuery(once(name, selector), legend)


def _datasource() -> JsonObject:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}


def _variable(one: Variable) -> JsonObject:
    query = f"label_values({one.metric}, {one.label})"
    return {
        "name": one.name,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": one.name},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _panel(number: int, one: Panel) -> JsonObject:
    custom = {"fillOpacity": 30, "stacking": {"mode": "normal"}} if one.stacked else {}
    bounds = {} if one.below_zero else {"min": 0}
    across = _WHOLE // _WIDTH
    where = {"x": number % across * _WIDTH, "y": number // across * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}
    return {
        "id": number + 1,
        "title": one.title,
        "description": one.note,
        "type": str(one.shape),
        "datasource": _SOURCE,
        "gridPos": where,
        "fieldConfig": {"defaults": {"unit": one.unit, **bounds, "custom": custom}, "overrides": []},
        "targets": [_target(chr(ord("A") + place), one.shape, query) for place, query in enumerate(one.queries)],
    }


def _target(ref: str, shape: Shape, query: PanelQuery) -> JsonObject:
    form = {Shape.TABLE: "table", Shape.HEAT: "heatmap"}.get(shape, "time_series")
    return {
        "refId": ref,
        "datasource": _SOURCE,
        "expr": query.expr,
        "legendFormat": query.legend,
        "format": form,
        "instant": shape in (Shape.TABLE, Shape.STAT),
        "range": shape not in (Shape.TABLE, Shape.STAT),
    }
