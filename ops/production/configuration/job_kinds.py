"""Kinds of jobs in the configuration file: Kueue's lists of frameworks, and kuelog's own descriptions of further kinds."""

from collections.abc import Sequence

import msgspec

from events.job_kind import Ending, Factor, JobKind, PodsAt, Sign
from services.jobs.table import KINDS, POD_GROUP, SERVING


class _Part(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A part of the file in which every field is known."""


class Integrations(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Which kinds are managed, and which are by somebody else."""

    frameworks: tuple[str, ...] = ()
    external_frameworks: tuple[str, ...] = ()
    label_keys_to_copy: tuple[str, ...] = ()


class CountPart(_Part, frozen=True, kw_only=True):
    """A number of which the count of pods is made."""

    path: str
    default: int = 1
    cap: str = ""


class PodsPart(_Part, frozen=True, kw_only=True):
    """Where pods of one shape are described."""

    at: str = "spec"
    template: str = "template"
    name: str = ""
    name_at: str = ""
    count: tuple[CountPart, ...] = ()
    pod_index_label: str = ""
    sub_group_index_label: str = ""


class SignPart(_Part, frozen=True, kw_only=True):
    """A field, and the values that mean something."""

    at: str
    values: tuple[str, ...] = ("True",)


class KindPart(_Part, frozen=True, kw_only=True):
    """One kind of job."""

    group: str
    version: str
    kind: str
    plural: str
    pods: tuple[PodsPart, ...]
    suspend: str = "spec.suspend"
    priority_class: str = ""
    succeeded: SignPart | None = None
    failed: SignPart | None = None
    stopped: SignPart | None = None
    ready: SignPart | None = None
    active: tuple[str, ...] = ()


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
    known = [*(one.name for one in KINDS if one is not POD_GROUP), *SERVING]
    strange = [name for name in found.frameworks if name not in known]
    if strange:
        raise ValueError(f"frameworks: {', '.join(strange)} is not known; there are {', '.join(sorted(known))}")
    return found


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
