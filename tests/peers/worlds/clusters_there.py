"""Three of Kueue's own managers, each before a real API server of its own, of which one sends jobs to the two others."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from events.json_object import JsonObject
from tests.peers.worlds.clusters import MANAGER, PLACES, WORKERS, ClustersWorld, placed_step
from tests.peers.worlds.clusters_seen import Told, with_clusters
from tests.peers.worlds.doing import do, make
from tests.peers.worlds.seen import Seen
from tests.peers.worlds.there import JOBS, WORKLOADS, Answer, Kueue, kueue, now
from tests.stage.kueue_manager import SPACE

STANDING = {"check": "admissionchecks.kueue.x-k8s.io", "cluster": "multikueueclusters.kueue.x-k8s.io"}
"""What a manager shows of checks and of clusters, by what it is told as."""
_MOST_TURNS = 8


class Managers:
    """The manager and the workers, by place, and the kubeconfigs of the workers."""

    def __init__(self, by_place: dict[str, Kueue], kubeconfigs: dict[str, str]) -> None:
        self._by_place, self._kubeconfigs = by_place, kubeconfigs
        self._names: dict[int, Told] = {}
        """By world, how what is seen in one of its clusters is told in the others."""

    async def play(self, worlds: Sequence[ClustersWorld]) -> dict[int, dict[str, Answer]]:
        """All of them step by step; by world and place, what is seen there after each step."""
        answers = {world.seed: {place: Answer() for place in PLACES} for world in worlds}
        await self._each(worlds, answers, -1)
        await self._rest(worlds, answers)
        for number in range(max(len(world.steps) for world in worlds)):
            mine = [one for one in worlds if number < len(one.steps) and not broken_in(answers[one.seed])]
            await self._each(mine, answers, number)
            await self._rest(worlds, answers)
            for place, one in self._by_place.items():
                one.check(f"step {number} of worlds {worlds[0].seed} and on, in {place}")
            for world in mine:
                if not broken_in(answers[world.seed]):
                    self._tell(world, answers[world.seed])
        return answers

    async def _each(self, worlds: Sequence[ClustersWorld], answers: dict[int, dict[str, Answer]], number: int) -> None:
        """Set them up, or do what is their step of that number."""

        async def one(world: ClustersWorld) -> None:
            for place in PLACES:
                client = self._by_place[place].client
                try:
                    if number < 0:
                        for value in world.placed(place, SPACE, self._kubeconfigs):
                            await make(client, value)
                    elif place in world.steps[number].places:
                        made = await do(client, placed_step(world.steps[number].step, SPACE, self._kubeconfigs), now())
                        if made is not None and made["kind"] == "Job":
                            answers[world.seed][place].jobs[made["metadata"]["name"]] = made["spec"]
                except Exception as problem:  # noqa: BLE001 - one world that can't be is no reason to lose the others
                    answers[world.seed][place].broken = f"{type(problem).__name__}: {problem}"

        await asyncio.gather(*(one(world) for world in worlds))

    async def _rest(self, worlds: Sequence[ClustersWorld], answers: dict[int, dict[str, Answer]]) -> None:
        """Until nothing changes in any of the clusters any more."""
        going = [one for one in worlds if not broken_in(answers[one.seed])]
        for _ in range(_MOST_TURNS):
            before = {place: one.versions() for place, one in self._by_place.items()}
            await asyncio.gather(
                *(
                    one.rest([world.at(place) for world in going], {seed: of[place] for seed, of in answers.items()})
                    for place, one in self._by_place.items()
                )
            )
            if before == {place: one.versions() for place, one in self._by_place.items()}:
                return

    def _tell(self, world: ClustersWorld, of: dict[str, Answer]) -> None:
        names = self._names.setdefault(world.seed, Told())
        for place, one in self._by_place.items():
            one.tell(world.at(place), of[place])
            standing = {kind: one.objects(key) for kind, key in STANDING.items() if place == MANAGER}
            found: Seen = of[place].seen.pop()
            workloads, jobs = one.objects(WORKLOADS), one.objects(JOBS)
            of[place].seen.append(with_clusters(place, found, names, workloads, jobs, standing, world.space))


def broken_in(answers: dict[str, Answer]) -> str:
    """What was refused of a world in any of its places; empty where nothing was."""
    return next((f"{place}: {one.broken}" for place, one in answers.items() if one.broken), "")


@asynccontextmanager
async def managers(peers: Path, folder: Path, more: JsonObject) -> AsyncGenerator[Managers]:
    """All three, which end with the block; `more` is what the configuration of each says besides."""
    async with AsyncExitStack() as stack:
        by_place: dict[str, Kueue] = {}
        for place in PLACES:
            (folder / place).mkdir()
            followed = tuple(STANDING.values()) if place == MANAGER else ()
            running = kueue(peers, folder / place, fair=False, more=more, kinds=[], autoscaler=[], followed=followed)
            by_place[place] = await stack.enter_async_context(running)
        kubeconfigs = {one: (folder / one / "server" / "kubeconfig").read_text() for one in WORKERS}
        yield Managers(by_place, kubeconfigs)
