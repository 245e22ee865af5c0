"""Copies that another cluster has sent say which commit decided them: what that cluster decides then rests on this log.

It is written before the status that the commit decided, so that nobody sees the one without the other.

Rule: docs/rules/multikueue.md#cited
"""

from events.api.labels import CITED
from events.citation import CitedCommit, citation_text, cited_in
from events.hash_chain import bytes_hash
from events.json_object import JsonObject, object_at
from services.applier.decisions import Decisions
from services.applier.plan import Application
from services.runtime.log_errors import LogGap


def cites(application: Application) -> bool:
    """Whether its object is a copy that a manager of other clusters has made, about which something was decided."""
    return bool(application.of.spec.origin) and not application.nothing_decided


async def citation_patch(found: JsonObject, application: Application, decisions: Decisions) -> JsonObject | None:
    """The merge patch by which a copy cites the commit that is applied; None when it cites that, or a later one."""
    before = cited_in(str(object_at(found, "metadata", "annotations").get(CITED, "")))
    if before is not None:
        number = await decisions.number_of(before.stream, before.sequence, before.sha256)
        if number >= application.sequence > 0:
            return None
    try:
        entry = await decisions.get(application.sequence)
    except LogGap:
        return None  # It was rolled away.
    cited = CitedCommit(stream=entry.stream, sequence=entry.sequence, sha256=bytes_hash(entry.data))
    version = found["metadata"]["resourceVersion"]
    return {"metadata": {"resourceVersion": version, "annotations": {CITED: citation_text(cited)}}}
