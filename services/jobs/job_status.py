"""The status of a job of any kind: suspended, stopped, ready, partly done, finished."""

from collections.abc import Sequence

from events.job_kind import JobKind, Sign
from events.json_object import JsonObject
from events.json_path import FieldBroken, get, locate, look, total
from events.whole_number import whole_number
from services.jobs.kinds.ray import pending_is_suspended
from services.jobs.pod_sets.pod_set import Pods


def is_suspended(kind: JobKind, job: JsonObject) -> bool:
    """Whether the job's spec suspends it."""
    return look(job, kind.suspend) is True


def is_stopped(kind: JobKind, job: JsonObject) -> bool:
    """Whether the job is suspended and none of its pods is active any more."""
    reported = kind.stopped is None or _shows(job, kind.stopped) or pending_is_suspended(kind, job)
    return is_suspended(kind, job) and reported and all(total(job, path) == 0 for path in kind.active)


def is_on_hold(kind: JobKind, job: JsonObject) -> bool:
    """Whether its controller has refused to run the job as it is: a RayJob that failed validation and has no cluster.

    Rule: docs/rules/queues.md#on-hold
    """
    refused = kind.reader == "ray job" and look(job, "status.jobDeploymentStatus") == "ValidationFailed"
    return refused and not look(job, "status.rayClusterName")


def finished_of(kind: JobKind, job: JsonObject) -> tuple[str, str] | None:
    """The outcome and message of a finished job; None while it is not finished."""
    for ending in kind.endings:
        if _shows(job, ending.sign) and (ending.unless is None or not _shows(job, ending.unless)):
            message = look(job, ending.message) if ending.message else ""
            return "Succeeded" if ending.succeeded else "Failed", str(message or ending.says)
    return None


def ready_of(kind: JobKind, job: JsonObject, pods: Sequence[Pods]) -> bool | None:
    """Whether all its pods are ready or done; None while it is suspended, or when its kind does not report that."""
    if is_suspended(kind, job):
        return None
    match kind.counter:
        case "job":
            uncounted = len(look(job, "status.uncountedTerminatedPods.succeeded") or ())
            return _over(job) + uncounted + total(job, "status.ready") >= sum(one.count for one in pods)
        case "replicas":
            found = {str(get(job, (*at, "name"))): at for at in locate(job, kind.replicas)}
            return all(
                one.name in found
                and total(job, _below(found[one.name], "ready")) + total(job, _below(found[one.name], "succeeded"))
                >= one.replicas
                for one in pods
            )
        case _:
            return _shows(job, kind.ready) if kind.ready is not None else None


def reclaimable_of(kind: JobKind, job: JsonObject, pods: Sequence[Pods]) -> dict[str, int]:
    """By pod set, how many pods need no quota any more, because as many are over (reclaimable). Raises `FieldBroken`.

    Rule: docs/rules/quota.md#charged-usage
    """
    if finished_of(kind, job) is not None:
        return {}
    match kind.counter:
        case "job":
            completions = look(job, "spec.completions")
            if isinstance(completions, int):
                left = completions - _over(job)
            else:
                # No pod is made any more once one has succeeded; of a job that was larger before more may run on than its size says.
                left = max(pods[0].count - _over(job), total(job, "status.active"))
            return {pods[0].name: pods[0].count - max(left, 0)} if max(left, 0) < pods[0].count else {}
        case "replicas":
            done = {
                str(get(job, (*at, "name"))): total(job, _below(at, "succeeded")) for at in locate(job, kind.replicas)
            }
            counts = {
                one.name: min(done.get(one.name, 0), one.replicas) * (one.count // one.replicas)
                for one in pods
                if one.replicas
            }
            return {name: count for name, count in counts.items() if count}
        case _:
            return {}


def _over(job: JsonObject) -> int:
    """How many completions of a Job need no pod any more: they have succeeded, or their index has failed for good."""
    failed = look(job, "status.failedIndexes") if look(job, "spec.completionMode") == "Indexed" else None
    return total(job, "status.succeeded") + count_indexes(failed or "")


def count_indexes(text: object) -> int:
    """How many indexes a text like `0,3-5` names. Raises `FieldBroken`."""
    if text == "":
        return 0
    count = 0
    for part in text.split(",") if isinstance(text, str) else [""]:
        first, dash, last = part.partition("-")
        begin, end = whole_number(first), whole_number(last if dash else first)
        if begin is None or end is None or end < begin:
            raise FieldBroken("status.failedIndexes", f"{text!r} does not name indexes", "e.g. 0,3-5")
        count += end - begin + 1
    return count


def _shows(job: JsonObject, sign: Sign) -> bool:
    found = look(job, sign.at)
    return found is not None and str(found) in sign.values


def _below(at: tuple[str | int, ...], field: str) -> str:
    return ".".join(str(step) for step in (*at, field))
