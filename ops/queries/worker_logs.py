"""The logs of worker clusters beside the manager's: whether what is cited is there, and what each says about a workload.

Rule: docs/rules/multikueue.md#cited
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge

from msgspec.structs import replace

from events.citation import CitedCommit
from events.event import Millis
from events.hash_chain import bytes_hash
from events.json_object import JsonObject
from events.multikueue import ClusterChosen, RemoteWorkloadObserved
from events.timestamp import format_exactly
from ops.queries.answers import explained, life_of
from ops.queries.explaining import find_workload, world_at
from ops.queries.patience import Patience
from ops.queries.point import Entries, NotOnTheLog, Point, point_at
from ops.queries.stored import in_order
from projections.explanation.life import Life, LifeMoment
from projections.explanation.redaction import Redaction, namespaces_in
from projections.world import World
from services.runtime.log_port import Entry

NOT_THERE = "cites what is not there"
"""What the moment is called that cites a commit of a worker's log which is not there."""


def why_not_there(cited: CitedCommit, stored: Sequence[Entry]) -> str:
    """Why a commit that is cited is not the one on a stream; empty when it is."""
    index = cited.sequence - stored[0].sequence if stored else -1
    if not 0 <= index < len(stored):
        held = f"holds {stored[0].sequence} to {stored[-1].sequence}" if stored else "holds nothing"
        return f"{cited.place} is not there: the stream {held}"
    return why_another(cited, bytes_hash(stored[index].data))


def why_another(cited: CitedCommit, sha256: str) -> str:
    """What is wrong when the commit at a place has this hash; empty when it is the one that is cited."""
    if sha256 == cited.sha256:
        return ""
    return f"{cited.place} is another commit: it is cited with hash {cited.sha256[:16]}…, and has {sha256[:16]}…"


def in_workers(
    world: World,
    point: Point,
    wanted: str,
    workers: Mapping[str, Entries],
    *,
    patience: Callable[[], Patience] | None,
    namespace: str = "",
) -> list[JsonObject]:
    """What the log of each cluster says about a workload that is tried or runs there, as of the same time.

    Each says which commit is cited, and what is wrong with it if anything is, as of a cluster that nobody knows. Without
    `patience` it is the first answer.
    """
    workload = find_workload(world, wanted)
    dispatch = world.dispatches.get(workload.key) if workload is not None else None
    names = () if dispatch is None else (dispatch.cluster,) if dispatch.cluster else dispatch.clusters
    found = [_unknown(world, name) for name in sorted({*workers} - {*names} - {*world.multikueue_clusters})]
    if workload is None:
        return found
    for name in sorted({*names} & {*workers}):
        copy = world.remotes.get(workload.key, {}).get(name)
        cited = copy.cited if copy is not None else None
        problem = why_not_there(cited, workers[name].get(cited.stream, ())) if cited is not None else ""
        about: JsonObject = {"cluster": name, "cited": cited.place if cited is not None else "", "problem": problem}
        try:
            there = point_there(point, workers[name])
            about |= {"at": there.describe(), "explanation": _explained(there, workload.key, patience, namespace)}
        except NotOnTheLog as unknown:
            about |= {"at": "", "explanation": None, "problem": problem or str(unknown)}
        found.append(about)
    return found


def _unknown(world: World, name: str) -> JsonObject:
    known = ", ".join(sorted(world.multikueue_clusters)) or "none"
    problem = f"there is no MultiKueueCluster {name}; those that are there: {known}"
    return {"cluster": name, "cited": "", "problem": problem, "at": "", "explanation": None}


def _explained(there: Point, key: str, patience: Callable[[], Patience] | None, namespace: str) -> JsonObject:
    wanted = f"workload/{key}"
    world = world_at(there, wanted)
    plain = explained(
        world, there, wanted, deep=patience is not None, patience=patience() if patience is not None else None
    )
    return Redaction([namespace], namespaces_in(world), world.nodes).of(plain) if namespace else plain


def point_there(point: Point, entries: Entries) -> Point:
    """The log of a worker cluster at the time of a point of the manager's. Raises `NotOnTheLog`."""
    return point_at(entries, "" if point.ended else format_exactly(point.at))


def life_across(
    wanted: str, point: Point, workers: Mapping[str, Entries], *, everything: bool = False
) -> list[LifeMoment]:
    """The life of an object on the manager's log, and that of its workloads on the logs of worker clusters, in the order of their times.

    Each log has its own clock; what is of a worker's log is named `CLUSTER/STREAM`. Raises `NotOnTheLog` for what the manager's log does not know.
    """
    here = life_of(wanted, point, everything=everything)
    if not workers:
        return here
    rows = [_timed(here)]
    keys, cited = _sent(wanted, point)
    for name, entries in workers.items():
        for key in keys:
            try:
                there = life_of(f"workload/{key}", point_there(point, entries), everything=everything)
            except NotOnTheLog:
                continue  # It was never sent there; what is cited and not there is told below.
            rows.append(_timed([_named(name, one) for one in there]))
        rows.append(_timed([one for one in (_checked(name, each, entries) for each in cited) if one is not None]))
    return [line for _, line in merge(*rows, key=lambda one: one[0])]


def _sent(wanted: str, point: Point) -> tuple[list[str], list[tuple[LifeMoment, str, CitedCommit]]]:
    """The keys of the workloads of an object that were sent to other clusters, and each commit that is cited about them."""
    life, keys = Life(wanted), dict[str, None]()
    cited: list[tuple[LifeMoment, str, CitedCommit]] = []
    for stored in in_order(point.entries):
        count, event = len(life.lines), stored.event
        life.fold(event, stored.place)
        if isinstance(event, RemoteWorkloadObserved | ClusterChosen) and len(life.lines) > count:
            keys[event.workload] = None
            if event.cited is not None:
                cited.append((life.lines[-1], event.cluster, event.cited))
    return list(keys), cited


def _checked(name: str, one: tuple[LifeMoment, str, CitedCommit], entries: Entries) -> LifeMoment | None:
    line, cluster, cited = one
    problem = why_not_there(cited, entries.get(cited.stream, ())) if cluster == name else ""
    return replace(line, what=NOT_THERE, detail=f"{name}: {problem}") if problem else None


def _named(cluster: str, line: LifeMoment) -> LifeMoment:
    cause = f"{cluster}/{line.cause}" if line.cause else ""
    return replace(line, partition=f"{cluster}/{line.partition}", cause=cause)


def _timed(lines: Iterable[LifeMoment]) -> Iterator[tuple[Millis, LifeMoment]]:
    """Lines of one log in its own order, each with a time that never goes back."""
    at: Millis = 0
    for line in lines:
        at = max(at, line.at)
        yield at, line
