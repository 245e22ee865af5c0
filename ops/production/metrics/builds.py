"""Which version runs, under Kueue's name, HAMi's and our own."""

import platform
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from events.rules import RULES
from ops.production.metrics.families import gauge


class BuildMetrics(Collector):
    """Always the same; what is only known of a program in Go is empty."""

    def collect(self) -> Iterator[Metric]:
        """1 for each."""
        ours, made_by, on = _build()
        yield gauge("kueue_build_info", [((ours, "", "", "", made_by, on), 1)])
        yield gauge("hami_build_info", [((ours, "", "", "", made_by, on), 1)])
        yield gauge("kuelog_build_info", [((ours, RULES, platform.python_version()), 1)])


@cache
def _build() -> tuple[str, str, str]:
    """Our version, what runs it, and where."""
    on = f"{platform.system().lower()}/{platform.machine()}"
    return version("kuelog"), platform.python_implementation(), on
