"""Kinds of jobs in the configuration file: Kueue's lists of frameworks, and kuelog's own descriptions of further kinds."""

from collections.abc import Sequence
from typing import Any

import msgspec

from events.job_kind import Ending, Factor, JobKind, PodsAt, Sign
from services.jobs.kinds.table import KINDS, POD_GROUP, SERVING


class _Part(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A part of the file in which every field is known."""


class Integrations(_Part, frozen=True, kw_only=True):
    """Which kinds are managed, and which are by somebody else."""

    frameworks: tuple[str, ...] = ()
    """The kinds of jobs that queues manage, such as `batch/job`; all that are known when none is named."""
    external_frameworks: tuple[str, ...] = ()
    """Kinds that somebody else manages, as `Kind.version.group`: what they own is not queued by itself."""
    label_keys_to_copy: tuple[str, ...] = ()
    """Labels of a job that its Workload gets as well."""
    pod_options: Any = None
    """Of no meaning here, as to Kueue: `managedJobsNamespaceSelector` took its place."""


class CountPart(_Part, frozen=True, kw_only=True):
    """A number of which the count of pods is made."""

    path: str
    """Where the number stands, such as `spec.replicas`."""
    default: int = 1
    """The number where nothing stands there."""
    cap: str = ""
    """Where a number stands that it does not exceed."""


class PodsPart(_Part, frozen=True, kw_only=True):
    """Where pods of one shape are described."""

    at: str = "spec"
    """Where the description is, below which all else of it stands."""
    template: str = "template"
    """Where the pod template is, from there."""
    name: str = ""
    """What its pod set is called."""
    name_at: str = ""
    """Where its name stands, if each has one."""
    count: tuple[CountPart, ...] = ()
    """The numbers whose product is how many pods there are; one pod without any."""
    pod_index_label: str = ""
    """The label in which pods bear their rank."""
    sub_group_index_label: str = ""
    """The label in which pods bear the number of their group."""


class SignPart(_Part, frozen=True, kw_only=True):
    """A field, and the values that mean something."""

    at: str
    """Where the field is."""
    values: tuple[str, ...] = ("True",)
    """The values that mean it."""


class KindPart(_Part, frozen=True, kw_only=True):
    """A further kind of job, and where in it pods and suspension are found."""

    group: str
    """Its API group."""
    version: str
    """The version in which it is read."""
    kind: str
    """Its kind."""
    plural: str
    """Its name in paths of the API."""
    pods: tuple[PodsPart, ...]
    """Where its pods are described."""
    suspend: str = "spec.suspend"
    """The field that holds it back."""
    priority_class: str = ""
    """Where the name of its priority class stands."""
    succeeded: SignPart | None = None
    """By what one sees that it has ended well."""
    failed: SignPart | None = None
    """By what one sees that it has failed."""
    stopped: SignPart | None = None
    """By what one sees that it stands still; without it by its pods."""
    ready: SignPart | None = None
    """By what one sees that all of its pods are ready; without it by its pods."""
    active: tuple[str, ...] = ()
    """Where numbers of pods stand that are there."""


def job_kinds(parts: Sequence[KindPart]) -> tuple[JobKind, ...]:
    """The rows of the table that a file adds. Raises `ValueError`."""
    for part in parts:
        if not part.pods:
            raise ValueError(f"jobKinds: {part.kind} names no pods")
    return tuple(_kind(part) for part in parts)


def frameworks(found: Integrations) -> Integrations:
    """The lists as they are, if they can be read. Raises `ValueError`."""
    wrong = [name for name in found.external_frameworks if name.count(".") < _PARTS]
    if wrong:
        raise ValueError(f"externalFrameworks: {', '.join(wrong)} is not of the form Kind.version.group")
    known = {**{one.name: one for one in KINDS if one is not POD_GROUP}, **SERVING}
    strange = [name for name in found.frameworks if name not in known]
    if strange:
        raise ValueError(f"frameworks: {', '.join(strange)} is not known; there are {', '.join(sorted(known))}")
    _check_once("frameworks", found.frameworks, ())
    managed = [known[name] for name in found.frameworks or _PLAIN]
    named = [f"{one.kind}.{version}.{one.group}" for one in managed for version in one.versions]
    _check_once("externalFrameworks", found.external_frameworks, named)
    return found


def _check_once(field: str, names: Sequence[str], before: Sequence[str]) -> None:
    for index, name in enumerate(names):
        if name in names[:index] or name in before:
            raise ValueError(f'integrations.{field}[{index}]: Duplicate value: "{name}"')


_PLAIN = ("batch/job",)
"""What Kueue manages where no kind is named."""
_PARTS = 2


def _kind(part: KindPart) -> JobKind:
    endings = [
        Ending(sign=sign, succeeded=well)
        for well, sign in ((True, _sign(part.succeeded)), (False, _sign(part.failed)))
        if sign
    ]
    return JobKind(
        group=part.group,
        versions=(part.version,),
        kind=part.kind,
        plural=part.plural,
        pods=tuple(
            PodsAt(
                at=one.at,
                template=one.template,
                name=one.name,
                name_at=one.name_at,
                count=tuple(Factor(path=n.path, default=n.default, cap=n.cap) for n in one.count),
                pod_index_label=one.pod_index_label,
                sub_group_index_label=one.sub_group_index_label,
            )
            for one in part.pods
        ),
        suspend=part.suspend,
        priority_class=part.priority_class,
        endings=tuple(endings),
        stopped=_sign(part.stopped),
        ready=_sign(part.ready),
        active=part.active,
    )


def _sign(part: SignPart | None) -> Sign | None:
    return None if part is None else Sign(at=part.at, values=part.values)
