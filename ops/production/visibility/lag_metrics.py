"""How far the visibility API lags behind the log, as Kubernetes asks for metrics from outside (external.metrics.k8s.io): what a HorizontalPodAutoscaler scales it by.

The cluster needs no adapter of metrics for it. There is one such API in a cluster, so it is served only where it was chosen.
"""

import re
from collections.abc import Awaitable, Callable

from events.event import Millis
from events.json_object import JsonObject
from events.timestamp import format_timestamp
from ops.production.fold_positions import FoldPosition, FoldPositions
from ops.production.visibility.discovery import api_group, api_resource_list

GROUP, VERSION = "external.metrics.k8s.io", "v1beta1"
METRIC = "kuelog_fold_lag_seconds"
_LABELS = ("partition", "stream")


class MetricUnknown(Exception):
    """There is no metric of that name."""


class SelectorRefused(Exception):
    """The labels that were asked for can't be, and what to write instead."""

    def __init__(self, text: str) -> None:
        super().__init__(f"labelSelector {text}: write partition=NAME or stream=NAME, several with commas between")


class LagUnknown(Exception):
    """The bus does not say at the moment how far its streams go."""

    def __init__(self) -> None:
        super().__init__("the bus does not say at the moment how far its streams go")


class LagMetrics:
    """Answers from the positions of the process that is asked."""

    def __init__(self, positions: Callable[[], Awaitable[FoldPositions]], now: Callable[[], Millis]) -> None:
        self._positions, self._now = positions, now

    def group(self) -> JsonObject:
        """What /apis/<group> says."""
        return api_group(GROUP, (VERSION,))

    def resources(self) -> JsonObject:
        """What /apis/<group>/<version> says."""
        metric: JsonObject = {
            "name": METRIC,
            "singularName": "",
            "namespaced": True,
            "kind": "ExternalMetricValueList",
            "verbs": ["get"],
        }
        return api_resource_list(GROUP, VERSION, [metric])

    async def value(self, metric: str, selector: str) -> JsonObject:
        """The largest lag of the streams that are meant, in seconds; the same in every namespace.

        One that is not folded and whose age is unknown is no lag of 0: then there is no answer. Raises `MetricUnknown`, `SelectorRefused`, `LagUnknown`.
        """
        if metric != METRIC:
            raise MetricUnknown
        wanted = _labels(selector)
        found = [one for one in (await self._positions()).positions if _meant(one, wanted)]
        if not found or any(one.age is None and one.last != one.folded for one in found):
            raise LagUnknown
        milliseconds = max(one.age or 0 for one in found)
        item: JsonObject = {
            "metricName": METRIC,
            "metricLabels": wanted,
            "timestamp": format_timestamp(self._now()),
            "value": f"{milliseconds}m",
        }
        return {
            "kind": "ExternalMetricValueList",
            "apiVersion": f"{GROUP}/{VERSION}",
            "metadata": {},
            "items": [item],
        }


def _labels(selector: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in filter(None, selector.split(",")):
        named = re.fullmatch(r"\s*(\w+)\s*==?\s*([\w.-]+)\s*", part)
        if named is None or named[1] not in _LABELS:
            raise SelectorRefused(selector)
        found[named[1]] = named[2]
    return found


def _meant(one: FoldPosition, wanted: dict[str, str]) -> bool:
    return wanted.get("partition", one.partition) == one.partition and wanted.get("stream", one.stream) == one.stream
