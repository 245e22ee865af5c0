"""What the Events of a world say, of Kueue and of kuelog."""

import re
from collections.abc import Iterable, Mapping

from events.json_object import JsonObject
from tests.peers.worlds.elastic import by_key

Name = tuple[str, str]

_ABOUT = frozenset({"Workload", "Job", "Pod"})
_OF_WAITING = frozenset({"Pending", "SecondPassFailed"})
_SECONDS = re.compile(r"\b[0-9.]+s\b")


def told_in_events(
    objects: Iterable[JsonObject],
    workloads: Mapping[Name, JsonObject],
    space: str,
    known: Mapping[str, str],
    names: dict[str, str],
) -> dict[str, list[str]]:
    """By kind and name of whom they are about, with type and reason, what was said, each once.

    Times and UIDs are left out, and why who waits does so: its condition says that. `names` says how Workloads are told apart,
    also of those that are gone by now.
    """
    found: dict[str, list[str]] = {}
    mine = [one for one in objects if one["metadata"]["namespace"] == space]
    names.update(named for one in mine for named in _named_in(one))
    names.update((one["metadata"]["name"], name) for name, one in by_key(workloads, space).items())
    spelled = sorted({**known, **names}.items(), key=lambda pair: -len(pair[0]))
    for one in mine:
        about = one["involvedObject"]
        if about["kind"] not in _ABOUT:
            continue
        message = _SECONDS.sub("…s", one.get("message", ""))
        for long, short in spelled:
            message = message.replace(long, short)
        name = names.get(about["name"], about["name"])
        said = found.setdefault(f"{about['kind']} {name}: {one['type']} {one['reason']}", [])
        if message not in said and one["reason"] not in _OF_WAITING:
            said.append(message)
            said.sort()
    return dict(sorted(found.items()))


def _named_in(event: JsonObject) -> list[Name]:
    """The name of the object of a Workload that was made for a job, and that of the job: it may be gone by now."""
    about, made = event["involvedObject"], event.get("message", "").rpartition("/")[2]
    of_job = made.startswith(f"{about['kind'].lower()}-{about['name']}-")
    return [(made, about["name"])] if event["reason"] == "CreatedWorkload" and of_job else []
