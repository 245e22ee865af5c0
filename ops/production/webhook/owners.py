"""Whether a managed job owns what is about to be stored: its owners are asked for, one above the other."""

import structlog

from events.json_object import JsonObject
from ops.production.webhook.review import ReviewRequest
from services.jobs.kinds.managed_kinds import Kinds
from services.jobs.owners import OwnerSearch, SoughtOwner, depends_on_owner, managed_above
from services.runtime.cluster_port import AccessRefused, ObjectMissing, Writer

log = structlog.get_logger()


class Owners:
    """The owners of new objects, as they are on the API server.

    Rule: docs/rules/objects.md#owners-asked
    """

    def __init__(self, writer: Writer, kinds: Kinds) -> None:
        self._writer, self._kinds = writer, kinds

    async def manage(self, asked: ReviewRequest) -> bool | None:
        """Whether a managed job owns an object; None where that does not matter, or we may not look. May raise `ClusterUnavailable`."""
        value, word = asked.object or {}, asked.kind.get("kind", "")
        if asked.sub_resource or not depends_on_owner(value, word, self._kinds):
            return None
        try:
            return await self._found(managed_above(value, self._kinds), asked.namespace)
        except AccessRefused as problem:
            # Rights of before: what a job makes goes on being made.
            log.warning("owner not read", object=asked.label, problem=str(problem))
            return None

    async def _found(self, search: OwnerSearch, namespace: str) -> bool:
        try:
            sought = next(search)
            while True:
                sought = search.send(await self._read(sought, namespace))
        except StopIteration as found:
            return bool(found.value)

    async def _read(self, sought: SoughtOwner, namespace: str) -> JsonObject | None:
        try:
            return await self._writer.get(sought.resource, namespace, sought.name)
        except ObjectMissing:
            return None
