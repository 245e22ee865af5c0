"""Which services and partitions of a log a process may serve: not what the log does not have, nor what a divided one does not do."""

from collections.abc import Sequence

import structlog

from ops.production.log.streams import LogStreams

log = structlog.get_logger()

MULTIKUEUE = "multikueue"
"""Has workloads run on other clusters: it decides where, and keeps these clusters so."""
SERVICES = ("watcher", "queue-manager", "admitter", "preemptor", "accountant", "applier", MULTIKUEUE)
VERIFIER = "verifier"
"""Decides again what the others have decided, and says nothing on the log."""
FOLLOWER = "visibility"
"""In place of services: only folds, for those who look, and writes nothing."""


class NoSuchPartition(ValueError):
    """A process is to serve a partition that the log does not have."""


class NotOnADividedLog(ValueError):
    """A service that does not work on a log of several partitions yet."""


def check_served(streams: LogStreams, served: Sequence[str], services: Sequence[str]) -> None:
    """Whether a process can serve this of a log. Raises `NoSuchPartition`, `NotOnADividedLog`."""
    unknown = [name for name in served if name not in streams.partitions]
    if unknown:
        raise NoSuchPartition(
            f"the log has no partition {', '.join(unknown)}: there are {', '.join(streams.partitions)}. "
            "`kuelog log partition` makes more of them"
        )
    if tuple(services) == (MULTIKUEUE,) and len(streams.trees) > 1:
        raise NotOnADividedLog(
            f"MultiKueue is not done on a divided log yet, and this one has {len(streams.trees)} partitions of trees: "
            "jobs that are to run in other clusters need a log of one partition"
        )


def sends_elsewhere(streams: LogStreams, services: Sequence[str]) -> bool:
    """Whether a process sends jobs to other clusters."""
    if MULTIKUEUE in services and len(streams.trees) > 1:
        log.warning("MultiKueue is not done on a divided log: jobs are sent to no other cluster")
    return MULTIKUEUE in services and len(streams.trees) == 1


def service_name(services: Sequence[str]) -> str:
    """How a process calls itself where services of many are collected."""
    return f"kuelog-{services[0]}" if len(services) == 1 else "kuelog"
