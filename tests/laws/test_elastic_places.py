"""Whatever an elastic job with cards asks for, whichever pods end and whichever hosts are lost: places and cards are of the same hosts, those that
stay keep both, and a growth that fits beside them is found.
"""

import random
from collections import Counter
from collections.abc import Iterable

import pytest

from events.control import ObjectRemoved
from events.device import PodCardsAssigned
from events.workload import PodsGone, WorkloadFinished
from projections.workloads.lifecycle import Workload, chain_of
from tests.laws.stop_of_pods import stop_of
from tests.services.admitter.test_elastic_in_domains import GATE, domains_of, elastic, gone, living, lost, sized
from tests.services.admitter.test_topology_with_cards import asking, host, racked

HOSTS = {"a": "r1", "b": "r1", "c": "r2", "d": "r2"}
WHOLE = 30_000
"""MiB of which a card has room for one pod only."""
STEPS = 14


class Life:
    """An elastic job whose controller makes and ends pods as it likes, beside others, on hosts that come and go."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.cards = {name: self.chance.randint(1, 3) for name in HOSTS}
        self.hosts = dict.fromkeys(HOSTS)
        self.told = racked(*(host(name, rack, cards=self.cards[name]) for name, rack in HOSTS.items())).told(GATE)
        self.told.unchecked = True
        self.size = self.chance.randint(1, 3)
        self.asked = elastic("e", self.size, memory=WHOLE)
        self.pods: dict[str, str] = {}
        """By name the host of each pod; nothing while it waits."""
        self.stuck: set[str] = set()
        """Pods on a host that is lost which are not gone yet."""
        self.seen = 0
        self.others = self.made = self.evictions = 0
        self.told.told(self.asked)

    def live(self) -> Workload:
        """The slice that runs, or the only one."""
        found = [one for one in self.told.world.workloads.values() if one.spec.elastic and not one.finished]
        return next((one for one in found if one.reserved), found[0])

    def step(self) -> None:
        """Things happen, which services decide about while the job's controller is still at it, and then all that follows."""
        for _ in range(self.chance.randint(1, 3)):
            getattr(self, self.chance.choice(("resize", "resize", "resize", "lose", "return_", "other", "end_pod")))()
            if self.chance.random() < 0.5:  # noqa: PLR2004
                self.told.decided()
                assert self.holds_where_it_lies()
        self.follow()

    def resize(self) -> None:
        self.size = self.chance.randint(1, 7)
        self.told.told(sized(self.asked, self.size))

    def lose(self) -> None:
        """A host is gone; its pods are later, or at once."""
        if len(self.hosts) > 2:  # noqa: PLR2004 - never all of them
            name = self.chance.choice(list(self.hosts))
            del self.hosts[name]
            self.told.told(lost(name))
            self.stuck |= {pod for pod, where in self.pods.items() if where == name}
            if self.chance.random() < 0.5:  # noqa: PLR2004
                self.collect()

    def return_(self) -> None:
        """A host comes again; what was there before is gone."""
        for name in sorted(HOSTS.keys() - self.hosts.keys()):
            self.collect()
            self.hosts[name] = None
            self.told.told(*host(name, HOSTS[name], cards=self.cards[name]))
            return

    def other(self) -> None:
        """Somebody else takes a card, or all of them give theirs back."""
        names = [key for key, one in self.told.world.workloads.items() if not one.spec.elastic and not one.finished]
        if names and self.chance.random() < 0.5:  # noqa: PLR2004
            self.told.told(*(WorkloadFinished(workload=key, reason="Succeeded") for key in names))
        else:
            self.others += 1
            self.told.told(asking(f"o{self.others}", memory=WHOLE))

    def end_pod(self) -> None:
        """A pod fails by itself: another one comes."""
        self.end(name for name, where in list(self.pods.items())[:1] if where)

    def end(self, names: Iterable[str]) -> None:
        for name in list(names):
            where = self.pods.pop(name)
            self.stuck.discard(name)
            self.told.told(*gone(name, where) if where else (ObjectRemoved(kind="Pod", namespace="team", name=name),))

    def collect(self) -> None:
        """Pods of hosts that are gone are deleted."""
        self.end(sorted(self.stuck))

    def follow(self) -> None:
        """Services decide and the job's controller does as it is told, until all is as it should be."""
        for _ in range(12):
            said, self.seen = self.told.decisions[self.seen :] + self.told.decided(), 0
            self.seen = len(self.told.decisions)
            assert self.holds_where_it_lies()
            acted = self.stop() or self.make_and_end()
            for one in said:
                if isinstance(one, PodCardsAssigned) and one.pod in self.pods and not self.pods[one.pod]:
                    devices = self.live().devices
                    assert devices is not None
                    (home,) = [each.node for each in devices.placements if each.index == one.index]
                    self.pods[one.pod] = home
                    self.told.told(living(one.pod, home))
                    if home not in self.hosts:
                        self.stuck.add(one.pod)
                    acted = True
            if not said and not acted and not self.wait():
                return
        raise AssertionError("never comes to rest")

    def wait(self) -> bool:
        """Let time pass until another host is sought for one that is lost."""
        until = max((one.second_pass.again_at for one in self.told.world.workloads.values()), default=0)
        passes = until > self.told.at
        self.told.at = max(until, self.told.at)
        return passes

    def stop(self) -> bool:
        """Who is evicted stops."""
        stopped = [
            one for one in self.told.world.workloads.values() if one.evicted and one.reserved and not one.finished
        ]
        for one in stopped:
            if one.spec.elastic:
                self.evictions += 1
                self.end(list(self.pods))
            about = chain_of(one) if one.spec.elastic else one.key
            self.told.told(PodsGone(workload=about, decision=stop_of(one, f"LOG_0/{one.stops.stopped_by}")))
        return bool(stopped)

    def make_and_end(self) -> bool:
        """So many pods as the job asks for while it runs: whichever are too many end."""
        if not self.live().should_run:
            return False
        before = dict(self.pods)
        waiting = [name for name, where in self.pods.items() if not where]
        others = [name for name, where in self.pods.items() if where and name not in self.stuck]
        self.chance.shuffle(others)
        self.end([*waiting, *others][: max(0, len(waiting) + len(others) - self.size)])
        for _ in range(self.size - len(self.pods)):
            self.made += 1
            self.pods[f"p{self.made}"] = ""
            self.told.told(living(f"p{self.made}"))
        return before != self.pods

    def holds_where_it_lies(self) -> bool:
        """Whether nobody who runs on a host that is there has lost the place or the cards that it has."""
        live = self.live()
        if live.admission is None or live.devices is None or live.evicted or not live.admitted:
            return True
        lie = Counter(where for name, where in self.pods.items() if where in self.hosts and name not in self.stuck)
        cards = Counter(one.node for one in live.devices.placements)
        return not lie - cards

    def hold(self) -> None:
        """At rest, with all pods gone that are to go."""
        self.collect()
        self.follow()
        live = self.live()
        if live.admission is not None and live.admitted and live.devices is not None:
            places = Counter({one.values[-1]: one.count for one in domains_of(live.admission.assignments)})
            cards = Counter(one.node for one in live.devices.placements)
            lie = Counter(where for where in self.pods.values() if where)
            if lie.total() > sum(places.values()):
                # It wants more by now than it was made smaller to, and all of it does not fit: pods too many go on, with their cards.
                assert self.size > sum(places.values()), (places, cards)
            else:
                assert places == cards, (places, cards)
                assert set(places) <= set(self.hosts) or self.free() == 0, (places, self.hosts)
            assert not lie - cards, (lie, cards)
            held = cards.total()
        else:
            held = 0
        runs = live.admission.assignments[0].count if live.admission is not None and live.admitted else 0
        assert self.size <= runs or self.size > held + self.free(), f"{self.size} of {held} and {self.free()} free"

    def free(self) -> int:
        """Cards on hosts that are there which nobody has."""
        taken = Counter(
            share.uuid
            for one in self.told.world.cards.holdings.values()
            for pod in one.placements
            for shares in pod.containers
            for share in shares
        )
        return sum(f"{name}-{index}" not in taken for name in self.hosts for index in range(self.cards[name]))


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_places_and_cards_go_together_and_a_growth_that_fits_is_found(first: int) -> None:
    grown = 0
    for seed in range(first, first + 20):
        life = Life(seed)
        life.follow()
        for number in range(STEPS):
            life.step()
            try:
                life.hold()
            except AssertionError as problem:
                raise AssertionError(f"seed {seed}, step {number}: {problem}") from problem
        grown += life.told.world.workloads["team/e"].finished
    assert grown > 5
