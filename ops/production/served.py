"""Which services there are, and which partitions of a log a process may serve: not what the log does not have."""

from collections.abc import Sequence

from ops.production.log.streams import LogStreams

MULTIKUEUE = "multikueue"
"""Has workloads run on other clusters: it decides where, and keeps these clusters so."""
SERVICES = ("watcher", "queue-manager", "admitter", "preemptor", "accountant", "applier", MULTIKUEUE)
VERIFIER = "verifier"
"""Decides again what the others have decided, and says nothing on the log."""
FOLLOWER = "visibility"
"""In place of services: only folds, for those who look, and writes nothing."""


class NoSuchPartition(ValueError):
    """A process is to serve a partition that the log does not have."""


def check_served(streams: LogStreams, served: Sequence[str]) -> None:
    """Whether a process can serve this of a log. Raises `NoSuchPartition`."""
    unknown = [name for name in served if name not in streams.partitions]
    if unknown:
        raise NoSuchPartition(
            f"the log has no partition {', '.join(unknown)}: there are {', '.join(streams.partitions)}. "
            "`kuelog log partition` makes more of them"
        )


def service_name(services: Sequence[str]) -> str:
    """How a process calls itself where services of many are collected."""
    return f"kuelog-{services[0]}" if len(services) == 1 else "kuelog"
