"""Some months on a small platform, seeded: busy seconds in each, wrong clocks, late facts, new prices, corrections, closings."""

from random import Random

from msgspec.structs import replace

from events.billing import (
    AccountRule,
    AccountsSet,
    Commitment,
    CorrectionEntered,
    Discount,
    ExchangeRateSet,
    LineKind,
    Meter,
    MinimumCharge,
    MonthClosed,
    Price,
    PriceListSet,
    PriceWindow,
    Spread,
)
from events.catalogue import AnyEvent
from events.codec import decode_commit, decode_sighting, encode
from events.commit import Commit, InputRun
from events.device import DevicesRegistered
from events.pod_set import PodSet
from events.quota import (
    ClusterQueueObserved,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    NamespaceObserved,
    Quota,
    ResourceGroup,
)
from events.subjects import CONTROL, FACTS
from events.timestamp import parse_timestamp
from events.workload import PriorityRef, WorkloadChanged, WorkloadSubmitted
from ops.queries.billing.closed_months import month_ledger, statement, upto, window_of
from ops.queries.billing.problems import BillRefused
from ops.queries.billing.zone_clocks import offsets_of
from projections.billing.entries.entry import QuotaEntry
from projections.billing.terms.prices import OF_CARDS
from tests.laws.random_day import DEVICES, PARTITION, TICK, Day
from tests.stories.small_world import job

MONTHS = ("2026-11", "2026-12", "2027-01", "2027-02")
STEPS = 10
TEAMS = ("team", "lab")


BESIDE_CARDS = ResourceGroup(
    resources=("cpu", "memory"),
    flavors=tuple(
        FlavorQuotas(
            flavor=flavor, quotas=(Quota(resource="cpu", nominal=cpu), Quota(resource="memory", nominal=cpu * 2**23))
        )
        for flavor, cpu in (("spot", 3000), ("plain", 100_000))
    ),
)


def window_row(chance: Random, name: str, since: int) -> PriceWindow:
    """Hours in which something happens in these months, or that lines go on over; in some zones clocks change between them."""
    zone = chance.choice(("Europe/Berlin", "Africa/Casablanca", "Asia/Kathmandu", "America/New_York"))
    quarter = 900_000
    return PriceWindow(
        name=name,
        zone=zone,
        begin=chance.randrange(96) * quarter,
        end=chance.randrange(96) * quarter,
        days=(5, 6) if name == "weekend" else (0, 1, 2, 3, 4, 5, 6),
        offsets=offsets_of(zone, since),
    )


def asking(pod_set: PodSet, more: dict[str, int]) -> PodSet:
    """The same, with requests of its container beside cards."""
    (container,) = pod_set.shape.containers
    return replace(
        pod_set, shape=replace(pod_set.shape, containers=(replace(container, requests={**container.requests, **more}),))
    )


class Months(Day):
    """A few busy seconds in each month; who holds cards at the end of one goes on in the next."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, lambda *_: None)
        pick = self.chance.choice
        self.more = Random(seed + 1_000_000)
        """For what operators enter besides prices."""
        self.movers = Random(seed + 2_000_000)
        """For jobs that come to name another queue."""
        self.offset = {name: pick((0, 0, 0, 7, -7, 2000, -2000)) for name in (FACTS, PARTITION, DEVICES)}
        """By how many milliseconds the clocks of those who write there are wrong all the time."""
        self.jumps = pick((0, 0, 0.02, 0.1))
        """How often one message has a time that is wrong by more."""
        self.named: dict[str, tuple[object, ...]] = {}
        """What each entry that was corrected is, as the bill had it."""
        self.closings: list[MonthClosed] = []
        self.at = parse_timestamp(f"{MONTHS[0]}-18T00:00:00Z")

    def submit(self) -> None:
        """Now and then somebody wants a whole node: both of its cards; and some job is to be in another queue."""
        there = [key for key, one in sorted(self.world.workloads.items()) if not one.finished]
        if there and self.movers.random() < 0.3:
            key = self.movers.choice(there)
            spec = replace(self.world.workloads[key].spec, queue=self.movers.choice(("lq", "lq2")))
            self.tell(WorkloadChanged(workload=key, generation=1, spec=spec))
        if self.more.random() < 0.3:
            self.jobs += 1
            name, queue = f"j{self.jobs}", self.more.choice(("lq", "lq2"))
            self.tell(job(name, memory=32768, cores=100, count=2, priority=10, queue=queue, at=self.at))
        else:
            super().submit()

    def clock(self, stream: str) -> int:
        """The time as whoever writes there has it."""
        at = self.at + self.offset.get(stream, 0)
        if stream != CONTROL and self.chance.random() < self.jumps:
            at += self.chance.choice((-3_600_000, -60_000, -500, -30, 30, 500, 60_000, 3_600_000))
        return at

    def tell(self, fact: AnyEvent, late: int = 0) -> None:
        if isinstance(fact, WorkloadSubmitted):
            team = self.chance.choice(TEAMS)
            fact = replace(fact, workload=f"{team}/{fact.workload.partition('/')[2]}")
            if not fact.spec.priority:
                batch = PriorityRef(name="batch", workload=True)
                fact = replace(fact, spec=replace(fact.spec, priority_class=batch))
            labels = {"cost-center": str(len(fact.workload) % 3), "team": "x"}
            fact = replace(fact, spec=replace(fact.spec, labels=labels))
            asked = {"cpu": self.chance.randrange(1, 2500), "memory": self.chance.randrange(1, 2**33)}
            fact = replace(
                fact, spec=replace(fact.spec, pod_sets=tuple(asking(one, asked) for one in fact.spec.pod_sets))
            )
        if isinstance(fact, ClusterQueueObserved):
            fact = replace(fact, groups=(*fact.groups, BESIDE_CARDS))
        super().tell(fact, late)

    def write(self, stream: str, data: bytes) -> None:
        if stream == FACTS:
            sighting = decode_sighting(data)
            data = encode(replace(sighting, at=self.clock(stream) - self.at + sighting.at))
        super().write(stream, data)

    def commit(self, stream: str, events: tuple, inputs: tuple[InputRun, ...], author: str) -> Commit:  # type: ignore[type-arg]
        return replace(super().commit(stream, events, inputs, author), at=self.clock(stream))

    def cards(self, name: str) -> DevicesRegistered:
        """The second node has larger cards of another model."""
        found = super().cards(name)
        if name == "n1":
            return found
        return replace(
            found, cards=tuple(replace(one, memory=65_536, slots=3, model="NVIDIA-A100") for one in found.cards)
        )

    def begin(self) -> None:
        self.foreign = self.more.random() < 0.4
        """Whether prices may be in another currency than the bill."""
        self.mapped = self.more.random() < 0.5
        """Whether anybody says who pays but the namespaces."""
        if self.foreign:
            self.operate(self.rate(self.at - 1000))
        if self.mapped:
            self.operate(self.rules(self.at + TICK * self.more.randrange(-500, 500)))
        self.resources = self.chance.choice(((), ("cpu", "memory")))
        """Which resources of quota this platform has prices for."""
        self.windows = self.chance.choice(((), (), ("night", "weekend")))
        self.operate(self.list(self.at - 1000))
        super().begin()
        self.tell(FlavorObserved(name="spot", node_labels={"tier": "spot", "topology.kubernetes.io/region": "eu-1"}))
        self.tell(FlavorObserved(name="plain"))
        self.tell(NamespaceObserved(name="lab"))
        self.tell(LocalQueueObserved(namespace="lab", name="lq", cluster_queue="cq"))
        self.tell(LocalQueueObserved(namespace="lab", name="lq2", cluster_queue="other"))

    def price(self) -> None:
        self.operate(self.list(self.at + TICK * self.chance.randrange(-50, 50)))
        if self.foreign and self.more.random() < 0.5:
            self.operate(self.rate(self.at + TICK * self.more.randrange(-50, 50)))
        if self.mapped and self.more.random() < 0.5:
            self.operate(self.rules(self.at + TICK * self.more.randrange(-50, 50)))

    def rate(self, starts: int) -> ExchangeRateSet:
        rate = f"{self.more.randrange(3)}.{self.more.randrange(1, 10**6)}"
        return ExchangeRateSet(currency="USD", billed_in="EUR", rate=rate, starts=starts, source="a bank")

    def rules(self, starts: int) -> AccountsSet:
        possible = (
            AccountRule(account="research", namespace="lab", label="cost-center=1"),
            AccountRule(account="research", cost_center="c-7", cluster_queue="other"),
            AccountRule(account_label="team", namespace="team", cost_center_label="cost-center"),
            AccountRule(cost_center_label="cost-center"),
            AccountRule(account="lab", namespace="team"),
            AccountRule(account="none", label="nobody=has"),
        )
        return AccountsSet(starts=starts, rules=tuple(self.more.sample(possible, self.more.randrange(1, 4))))

    def unused(self) -> list[Price]:
        """What is asked for cards that nobody uses, and for quota that is lent."""
        more = self.more
        some = [
            Price(
                meter=meter,
                unit_price=f"{more.randrange(90)}.{more.randrange(1, 10**9)}",
                spread=spread,
                resource="nvidia.com/gpu" if spread is Spread.QUOTA else "",
                **words,
            )
            for meter in (Meter.IDLE, Meter.STRANDED)
            for words in ({}, {"flavor": "v100"}, {"model": "NVIDIA-A100"})
            for spread in (more.choice(tuple(Spread)),)
            if more.random() < 0.4
        ]
        return [*some, Price(meter=Meter.LENT, resource="cpu", unit_price="1")] if some else []

    def terms(self, starts: int) -> PriceListSet:
        """A list with what is agreed on for whole months."""
        more, found = self.more, PriceListSet(name="next", currency="EUR", starts=starts, prices=())
        if more.random() < 0.4:
            discounts = tuple(
                Discount(
                    name="d", percent=str(more.randrange(1, 101)), above=f"{place}.{more.randrange(100):02d}", **who
                )
                for place in range(more.randrange(1, 3))
                for who in ({}, {"account": more.choice(("lab", "research", "x"))})
            )
            found = replace(found, discounts=discounts)
        if more.random() < 0.4:
            commitments = tuple(
                Commitment(
                    name="c", account=account, price=f"{more.randrange(9)}.50", covers=f"0.{more.randrange(10**6):06d}"
                )
                for account in more.sample(("team", "lab", "research", "x"), 2)
            )
            found = replace(found, commitments=commitments)
        if more.random() < 0.4:
            least = (MinimumCharge(amount="0.05"), MinimumCharge(amount="2", account=more.choice(("lab", "research"))))
            found = replace(found, minimums=least[: more.randrange(1, 3)])
        foreign = self.foreign and more.random() < 0.7
        return replace(found, currency="USD", billed_in="EUR") if foreign else found

    def list(self, starts: int) -> PriceListSet:
        chance = self.chance
        some = [
            Price(meter=meter, unit_price=f"{chance.randrange(4)}.{chance.randrange(1, 10**9)}", **words)
            for meter in chance.sample(OF_CARDS, 3)
            for words in (
                {},
                {"model": "NVIDIA-A100"},
                {"flavor": "v100", "tenant": "lab"},
                {"priority_class": "batch"},
            )
            if not words or chance.random() < 0.5
        ]
        if chance.random() < 0.05:
            some = [Price(meter=Meter.CORES, unit_price="1.5", model="NVIDIA-A100")]
        for resource in self.resources if chance.random() < 0.9 else ():
            some += [
                Price(meter=Meter.QUOTA, resource=resource, unit_price=f"0.{chance.randrange(1, 10**10):010d}", **words)
                for words in ({}, {"flavor": "spot"}, {"flavor": "plain", "tenant": "lab"}, {"priority_class": "batch"})
                if chance.random() < 0.6
            ]
        windows = tuple(window_row(self.chance, name, starts) for name in self.windows)
        for price in some[:2] if windows else ():
            some.append(
                replace(price, unit_price=f"0.{chance.randrange(1, 10**10):010d}", window=chance.choice(windows).name)
            )
        if self.windows and self.resources:
            some.append(Price(meter=Meter.QUOTA, resource="cpu", unit_price="0.0001", flavor_label="tier=spot"))
        kinds = (LineKind.USAGE, LineKind.RESERVATION, LineKind.UNRESERVED)
        some += self.unused()
        return replace(
            self.terms(starts),
            decimals=chance.choice((0, 2, 2, 3)),
            prices=tuple(some),
            windows=windows,
            tags=((), ("cost-center",), ("team", "cost-center", "none"))[len(self.entries[CONTROL]) % 3],
            charges=kinds if chance.random() < 0.7 else kinds[: chance.randrange(1, 3)],
            credits=chance.choice((("Preempted",), ("Preempted", "NodeFailures"), ())),
        )

    def month(self, month: str) -> None:
        begin = parse_timestamp(f"{month}-03T00:00:00Z")
        if begin > self.at:
            self.pass_time(begin - self.at)
        for _ in range(STEPS):
            self.step()
        for _ in range(self.chance.randrange(3)):
            self.correct(month)

    def correct(self, month: str) -> None:
        """A person who looks at the bill of this month or of the one before corrects what stands there."""
        ledger, _ = month_ledger(self.entries, window_of(self.chance.choice(MONTHS[: MONTHS.index(month) + 1])))
        over = [entry for entry in (*ledger.entries, *ledger.quota_entries) if entry.ended is not None]
        if not over or self.chance.random() < 0.2:
            cents = self.chance.randrange(-500, 500) or 1
            about = self.chance.choice((None, self.at - 40 * 86_400_000))
            amount = f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"
            self.operate(
                CorrectionEntered(
                    tenant=self.chance.choice(TEAMS), amount=amount, about=about, reason="wrong", author="ann"
                )
            )
            return
        entry = self.chance.choice(over)
        holder, began = entry.holder, entry.began
        of_card, of_quota = ("", "", 0), ("", "")
        if isinstance(entry, QuotaEntry):
            of_quota = (entry.flavor, entry.resource)
        else:
            of_card = (entry.slice.card.uuid, entry.slice.pod_set, entry.slice.index)
        self.named[entry.id] = (
            *(holder.workload, holder.attempt, str(entry.kind), *of_card),
            *(entry.since, f"{began.partition}/{began.sequence}", *of_quota),
        )
        since = until = None
        if self.chance.random() < 0.5:
            since = entry.since + self.chance.randrange(-100, 100)
            until = since + self.chance.randrange(1, 10_000)
        twice = self.chance.random() < 0.2
        event = CorrectionEntered(
            tenant=holder.tenant,
            entry=entry.id,
            since=since,
            until=until,
            allow_negative=twice,
            reason="wrong",
            author="ann",
        )
        self.operate(event)

    def close(self, month: str, places: dict[str, int]) -> bool:
        """Close a month on the log up to these places, if it can be."""
        then = upto(self.entries, {**places, CONTROL: len(self.entries[CONTROL])})
        try:
            event = statement(then, month, author="ann")
        except BillRefused:
            return False
        self.operate(event)  # type: ignore[arg-type]
        self.closings.append(event)
        return True

    def known(self, late: int) -> dict[str, int]:
        """How far the streams had been read, if the deciders' last messages come late; none ends before what the others rest on."""
        found = {name: len(stored) for name, stored in self.entries.items()}
        for name in (PARTITION, DEVICES):
            least = self.closings[-1].upto[name] if self.closings else min(found[name], 1)
            found[name] = max(found[name] - late, least)
        changed = True
        while changed:
            changed = False
            for name in (PARTITION, DEVICES):
                for entry in self.entries[name][: found[name]]:
                    for run in decode_commit(entry.data).inputs:
                        if found[run.stream] < run.upto:
                            found[run.stream], changed = run.upto, True
        return found


def lived_months(seed: int) -> Months:
    """All months, each closed early in the next one where it can be, in most of them with messages missing by then."""
    life = Months(seed)
    life.begin()
    life.decide()
    for place, month in enumerate(MONTHS):
        life.month(month)
        before = MONTHS[place - 1] if place else ""
        in_turn = len(life.closings) == place - 1
        if before and in_turn and life.chance.random() < 0.9:
            life.close(before, life.known(life.chance.choice((0, 0, 1, 2, 4, 8))))
            for _ in range(3):
                life.step()
    life.pass_time(TICK * 100)
    life.tell(NamespaceObserved(name="team"))
    return life
