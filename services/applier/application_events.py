"""The Events to be recorded when the decisions about a workload have been written; pure."""

from collections.abc import Iterator

from events.event import Millis
from services.applier.events.cluster_events import ClusterEvent, workload_event
from services.applier.events.workload_events import (
    checks_told,
    finished,
    started,
    stopped,
    workload_events,
)
from services.applier.plan import Application


def news_of(application: Application, uid: str, at: Millis) -> Iterator[ClusterEvent]:
    """What is new of a workload whose object, of this UID, shows it."""
    workload = application.of
    for one in (*application.news, *(() if application.discard else workload_events(workload))):
        yield workload_event(application.workload, uid, application.partition, one)
    if application.finished and not workload.finish_shown:
        yield from finished(workload, at)
    if not application.discard:
        yield from checks_told(workload, at)


def turn_of(application: Application, at: Millis) -> Iterator[ClusterEvent]:
    """That its job was started or stopped just now."""
    if application.run:
        yield from started(application.of, application.gate, at)
    else:
        yield from stopped(application.of, at)
