"""Which kinds of jobs are managed under a configuration, and whose children are not jobs of their own."""

from functools import lru_cache

import msgspec

from events.api.labels import QUEUE_NAME
from events.job_kind import JobKind
from events.json_object import JsonMapping
from events.settings import SettingsObserved
from events.workload import Owner
from projections.feature_gates import enabled
from services.jobs.kinds.serving import SET_LABEL
from services.jobs.kinds.table import DEPLOYMENT, KINDS, LEADER_WORKER_SET, POD, POD_GROUP, REPLICA_SET, SERVING
from services.runtime.cluster_port import Resource

_OVER_WHICH = (*KINDS, *SERVING.values(), REPLICA_SET)


class Kinds:
    """The managed kinds, by the name that facts use and by API version and kind."""

    def __init__(
        self,
        managed: tuple[JobKind, ...],
        external: tuple[str, ...],
        serving: tuple[JobKind, ...],
        *,
        takes_all: bool,
        by_topology: bool,
    ) -> None:
        self.takes_all = takes_all
        """Whether jobs without a queue name are managed, too (`manageJobsWithoutQueueName`)."""
        self.by_topology = by_topology
        """Whether pods are placed by topology at all (the gate `TopologyAwareScheduling`)."""
        self.by_place = {one.place: one for one in managed}
        self.parents = {one.place: one for one in serving if one is not DEPLOYMENT}
        """Serving kinds that declare their number of pods (StatefulSet, LeaderWorkerSet); pods of a Deployment are single."""
        self.serving = serving
        """Serving kinds whose pods get their queue name."""
        self._by_api = {(one.group, one.kind): one for one in managed}
        self._serving = {(one.group, one.kind): one for one in serving}
        self.known = {(one.group, one.kind): one for one in (*_OVER_WHICH, *managed) if one is not POD_GROUP}
        """Every kind over whose objects the search for a managed owner goes on, managed or not, by group and kind."""
        self.watched = [one for one in self.known.values() if one not in (POD, DEPLOYMENT, REPLICA_SET)]
        """Kinds whose objects are looked at, be it only to know who owns them and what they make."""
        self._external = {(group, kind) for kind, _, group in (_parts(one) for one in external)}

    def of(self, api_version: str, kind: str) -> JobKind | None:
        """The kind of job or serving object of an API version and kind; None if it is not managed."""
        place = _group(api_version), kind
        return self._by_api.get(place) or self._serving.get(place)

    def serves(self, group: str, kind: str) -> bool:
        """Whether this is a serving kind: its pods get its queue name."""
        return (group, kind) in self._serving

    def parent_of(self, owner: Owner) -> JobKind | None:
        """The serving kind that owns the pods of a workload, if it declares how many there are; else None."""
        kind = self._serving.get((_group(owner.api_version), owner.kind))
        return kind if kind in self.parents.values() else None

    def maker_named(self, made_by: str) -> JobKind | None:
        """The serving kind that a pod names as its maker: by Kueue's name for it, or by the bare word that we wrote before."""
        return next((one for one in self.serving if made_by in (one.kind.lower(), one.name)), None)

    def takes_serving(self, labels: JsonMapping) -> bool:
        """Whether a serving object with these labels is managed: it names a queue, or none has to.

        The StatefulSets behind a LeaderWorkerSet are not: its groups ask for their pods.

        Rule: docs/jobs.md#what-serves
        """
        if labels.get(QUEUE_NAME):
            return True
        behind = labels.get(SET_LABEL) and LEADER_WORKER_SET.place in self.parents
        return self.takes_all and not behind

    def owns_jobs(self, api_version: str, kind: str) -> bool:
        """Whether what such an object owns is started and stopped with it."""
        return (_group(api_version), kind) in self._by_api or self.is_external(api_version, kind)

    def is_external(self, api_version: str, kind: str) -> bool:
        """Whether somebody else manages this kind: nobody reads its objects."""
        return (_group(api_version), kind) in self._external

    def known_as(self, api_version: str, kind: str) -> JobKind | None:
        """The kind of an owner, managed or not; None for one that is nobody's kind of job."""
        return self.known.get((_group(api_version), kind))


def kinds_of(settings: SettingsObserved) -> Kinds:
    """The kinds under a configuration."""
    by_topology = enabled(settings, "TopologyAwareScheduling")
    return _kinds(
        settings.frameworks, settings.external_frameworks, settings.job_kinds, settings.without_queue, by_topology
    )


def resource_of(kind: JobKind, api_version: str = "") -> Resource:
    """The place of a kind on the API, in one of its versions."""
    version = api_version.rpartition("/")[2] or kind.versions[0]
    return Resource(group=kind.group, version=version, plural=kind.plural, kind=kind.place)


@lru_cache(maxsize=8)
def _kinds(
    frameworks: tuple[str, ...],
    external: tuple[str, ...],
    more: tuple[JobKind, ...],
    takes_all: bool,  # noqa: FBT001 - a cache knows its arguments by their place
    by_topology: bool,  # noqa: FBT001 - as above
) -> Kinds:
    # Two groups may call a kind alike: only ours go by the bare word.
    known = {one.place for one in KINDS}
    named = [msgspec.structs.replace(one, key=f"{one.kind}.{one.group}") if one.kind in known else one for one in more]
    chosen = [one for one in KINDS if not frameworks or (POD if one is POD_GROUP else one).name in frameworks]
    serving = tuple(one for name, one in SERVING.items() if not frameworks or name in frameworks)
    return Kinds((*chosen, *named), external, serving, takes_all=takes_all, by_topology=by_topology)


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _parts(name: str) -> tuple[str, str, str]:
    kind, _, rest = name.partition(".")
    version, _, group = rest.partition(".")
    return kind, version, group
