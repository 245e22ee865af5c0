"""What is asked about what-ifs over HTTP: what there is to change, to run one, how it stands, and its end."""

from collections.abc import Iterator

import msgspec
from aiohttp import web

from events.json_object import JsonObject
from ops.console.gate import GateAnswer, QuestionGate
from ops.console.guard import BadQuestion
from ops.console.questions import Folded, Parameters
from ops.console.rights import Rights
from ops.console.whatif import WhatIfs
from ops.console.whatif_words import AskedWhatIf
from ops.queries.whatif.change import ForkChanges
from ops.queries.whatif.manifest import manifest_of
from projections.explanation.about import canonical
from projections.world import World

WHATIFS = "/api/v1/whatif"
_KEPT = {"Cache-Control": "no-store"}
_ACCEPTED = 202
_MOST_CHANGES, _LONGEST = 50, 500
_NAMESPACED = frozenset({"workload", "job", "localqueue"})


class WhatIfPages:
    """What-ifs, for who may read what is of the whole cluster: their outcome speaks of all queues."""

    def __init__(self, gate: QuestionGate, whatifs: WhatIfs) -> None:
        self._gate, self._whatifs = gate, whatifs

    async def begun(self, request: web.Request, rights: Rights) -> GateAnswer:
        """Run one."""
        rights.check_queues()
        asked = await _asked(request)
        for text in (*asked.settings, *asked.removed):
            kind, _, name = canonical(text.partition(":")[0]).partition("/")
            if kind in _NAMESPACED:
                rights.check_namespace(name.partition("/")[0])
        ForkChanges(asked.settings, (), asked.removed, (), asked.more)
        name = self._whatifs.begin(asked, await self._gate.owner(request))
        return GateAnswer(value={"id": name}, headers=_KEPT, status=_ACCEPTED)

    async def stands(self, request: web.Request, rights: Rights) -> GateAnswer:
        """How one stands."""
        rights.check_queues()
        found = self._whatifs.state(request.match_info["id"], await self._gate.owner(request))
        return GateAnswer(value=found, headers=_KEPT)

    async def cancelled(self, request: web.Request, rights: Rights) -> GateAnswer:
        """End one."""
        rights.check_queues()
        await self._whatifs.cancel(request.match_info["id"], await self._gate.owner(request))
        return await self.stands(request, rights)


def choices(of: Folded, query: Parameters, rights: Rights) -> JsonObject:
    """What there is to change: quotas with their fields, and nodes with their cards."""
    del query, rights
    world = of.world()
    nodes = sorted({*world.nodes, *world.cards.nodes})
    return {
        "quotas": list(_quotas(world)),
        "queues": sorted(world.cluster_queues),
        "nodes": [
            {"name": name, "cards": [card.uuid for card in found.cards] if found is not None else []}
            for name in nodes
            for found in (world.cards.nodes.get(name),)
        ],
    }


def _quotas(world: World) -> Iterator[JsonObject]:
    for kind, table in (("clusterqueue", world.cluster_queues), ("cohort", world.cohorts)):
        for name, fact in sorted(table.items()):
            manifest = manifest_of(fact)
            groups: list[JsonObject] = manifest["spec"]["resourceGroups"] if manifest is not None else []
            for number, group in enumerate(groups):
                for flavor in group["flavors"]:
                    for one in flavor["resources"]:
                        path = f"spec.resourceGroups[{number}].flavors[{flavor['name']}].resources[{one['name']}]"
                        yield {
                            "object": f"{kind}/{name}",
                            "flavor": flavor["name"],
                            "resource": one["name"],
                            "nominal": str(one["nominalQuota"]),
                            "field": f"{kind}/{name}:{path}.nominalQuota",
                        }


async def _asked(request: web.Request) -> AskedWhatIf:
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType
    try:
        asked = msgspec.json.decode(await request.read(), type=AskedWhatIf)
    except msgspec.DecodeError as problem:
        raise BadQuestion(f'write {{"at": "…", "set": ["…"], "remove": ["…"], "more": ["…"]}}: {problem}') from problem
    changes = (*asked.settings, *asked.removed, *asked.more)
    if not changes:
        raise BadQuestion("nothing is changed: say set, remove or more")
    if len(changes) > _MOST_CHANGES or any(len(one) > _LONGEST for one in (*changes, asked.at)):
        raise BadQuestion(f"at most {_MOST_CHANGES} changes of {_LONGEST} characters each")
    return asked
