"""An auditor's own calculation of a bill: from the stored messages as JSON and docs/rules/billing.md alone.

Nothing of kuelog is imported. Who holds what is found anew from scratch after every event, by card; every number is an integer
or a fraction, and time is cut where what was found differs from what was found before.
"""

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

Log = Mapping[str, Sequence[bytes]]
FACTS, CONTROL = "FACTS", "CONTROL"
HOUR, SLOTS = 3_600_000, 2
PAID = ("OK", "CORDONED")
PARTS = ("USED", "IDLE", "STRANDED", "CORDONED", "UNHEALTHY", "LOST", "OVER")


class Place(NamedTuple):
    stream: str
    sequence: int
    at: int


class Line(NamedTuple):
    """So much of one card, held under one account, from a place on the log until a time."""

    tenant: str
    workload: str
    attempt: int
    queue: str
    local_queue: str
    priority: str
    labels: tuple[tuple[str, str], ...]
    kind: str
    card: str
    model: str
    node: str
    flavor: str
    whole: tuple[int, int, int]
    """Memory, cores and slots of the card."""
    memory: int
    cores: int
    slots: int
    pod: tuple[str, int]
    since: int
    until: int
    began: str
    over: bool
    resource: str = ""
    """Of quota: what is held of it; then there is no card."""
    amount: int = 0
    node_cards: int = 0
    """How many cards its node had when all of them were given to its attempt whole."""
    asked: tuple[int, int] | None = None
    """MiB and percent of cores that the pod had asked for of this card; nothing of what no reservation has."""

    @property
    def exclusive(self) -> bool:
        held = (self.memory, self.cores, self.slots)
        return any(part >= whole > 0 for part, whole in zip(held, self.whole, strict=True))


class Payer(NamedTuple):
    account: str
    cost_center: str
    mapped: bool


class Part(NamedTuple):
    """A line, or what gives it back or enters it again, within one month and one price list."""

    line: Line
    kind: str
    since: int
    until: int
    sign: int
    prices: str
    """Where on the log its price list stands; empty for none."""
    booked: int
    place: str
    payer: Payer
    rate: Fraction | None
    """What is billed for one unit of the prices' currency; None where nobody has said it."""
    learnt: bool = False


class Row(NamedTuple):
    """What stands in a data set."""

    tenant: str
    workload: str
    attempt: int
    queue: str
    local_queue: str
    kind: str
    category: str
    correction: bool
    card: str
    since: int
    until: int
    memory: int
    cores: int
    flavor: str
    place: str
    meter: str
    quantity: Fraction | None
    list_cost: Fraction
    cost: Fraction
    month: str
    resource: str = ""
    amount: int = 0
    tags: tuple[tuple[str, str], ...] = ()
    """Labels of the workload that the price list names."""
    account: str = ""
    cost_center: str = ""
    mapped: bool = False
    """Whether a rule says that the account pays."""
    asked: tuple[int, int] | None = None
    place_given: tuple[str, str] = ("", "")
    """Region and zone, as the labels of the flavor say."""
    pricing: Fraction | None = None
    """What the prices themselves come to, where the bill is in another currency."""


def month_of(at: int) -> int:
    then = datetime.fromtimestamp(at // 1000, UTC)
    return int(datetime(then.year, then.month, 1, tzinfo=UTC).timestamp()) * 1000


def month_after(at: int) -> int:
    return month_of(month_of(at) + 32 * 24 * HOUR)


def month_name(at: int) -> str:
    return datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m")


def true_times(times: list[int]) -> list[int]:
    """As few are moved as can be, and of two the earlier one stands: the longest run that never goes back, by brute force."""
    if sorted(times) == times:
        return times
    longest = [1] * len(times)
    for i in range(len(times) - 1, -1, -1):
        longest[i] = 1 + max((longest[j] for j in range(i + 1, len(times)) if times[j] >= times[i]), default=0)
    kept: list[int] = []
    left = max(longest, default=0)
    for i, at in enumerate(times):
        if longest[i] == left and (not kept or times[kept[-1]] <= at) and left:
            kept.append(i)
            left -= 1
    found: list[int] = []
    for i, at in enumerate(times):
        ahead = [times[one] for one in kept if one >= i]
        moved = min(at, ahead[0]) if ahead else at
        found.append(max(moved, found[-1]) if found else moved)
    return found


class Told(NamedTuple):
    place: Place
    needs: tuple[tuple[str, int], ...]
    events: tuple[dict[str, Any], ...]


def told(log: Log) -> list[Told]:
    """All messages in the order in which they count: by time, but nothing ahead of what it rests on."""
    waiting: dict[str, list[Told]] = {}
    for stream, stored in log.items():
        bodies = [json.loads(one) for one in stored]
        authors = [body["author"] if stream == FACTS else "" for body in bodies]
        times = [body["at"] for body in bodies]
        for author in set(authors):
            own = [i for i, one in enumerate(authors) if one == author]
            for i, at in zip(own, true_times([times[i] for i in own]), strict=True):
                times[i] = at
        waiting[stream] = sorted(
            (
                Told(
                    Place(stream, i + 1, times[i]),
                    tuple((run["stream"], run["upto"]) for run in body.get("inputs", ())),
                    (body["fact"],) if "fact" in body else tuple(body["events"]),
                )
                for i, body in enumerate(bodies)
            ),
            key=lambda one: (one.place.at, one.place.sequence),
        )
    rank = {CONTROL: 0, FACTS: 1, "LOG_0": 2, "DEVICES_default": 3}
    done: dict[str, set[int]] = {stream: set() for stream in log}
    upto = dict.fromkeys(log, 0)
    found: list[Told] = []
    while any(waiting.values()):
        free = [
            one[0] for one in waiting.values() if one and all(upto[stream] >= last for stream, last in one[0].needs)
        ]
        first = min(free, key=lambda one: (one.place.at, rank[one.place.stream]))
        stream = first.place.stream
        done[stream].add(first.place.sequence)
        while upto[stream] + 1 in done[stream]:
            upto[stream] += 1
        found.append(waiting[first.place.stream].pop(0))
    return found


class Account(NamedTuple):
    tenant: str
    workload: str
    attempt: int
    queue: str
    local_queue: str
    priority: str
    labels: tuple[tuple[str, str], ...] = ()


class Attempt:
    def __init__(self, account: Account, flavors: dict[str, str]) -> None:
        self.account, self.flavors = account, flavors
        self.admitted = self.finished = False
        self.stopped = ""
        self.lines: list[Line] = []
        self.placements: tuple[dict[str, Any], ...] = ()
        self.asked: dict[str, dict[str, Any]] = {}
        """By pod set, what its container asks for."""
        self.nodes: dict[str, int] = {}
        """By card of a node that was given to it as a whole, how many cards that has."""
        self.quota: Counter[tuple[str, str]] = Counter()
        """What it holds of each flavor and resource, until it is released."""
        self.quota_lines: list[Line] = []


class Stand(NamedTuple):
    """How a card stands: what it is, where, and in which condition."""

    condition: str
    node: str
    model: str
    whole: tuple[int, int, int]
    flavor: str


class Held(NamedTuple):
    kind: str
    amounts: tuple[int, int, int]
    node_cards: int = 0
    asked: tuple[int, int] | None = None


def is_card(resource: str) -> bool:
    return resource.startswith("nvidia.com/")


GONE = Stand("GONE", "", "", (0, 0, 0), "")
Uses = dict[str, tuple[int, int, int]]


def weigh(sums: dict[str, Counter[tuple[str, int]]], owner: str, card: str, amounts: tuple[int, int, int]) -> None:
    for what in range(3):
        sums.setdefault(owner, Counter())[card, what] += amounts[what]


def beyond(held: Counter[tuple[str, int]], reserved: Counter[tuple[str, int]]) -> Iterator[tuple[str, Held]]:
    """What the pods of an owner hold of each card beyond what is reserved: instead of it, while slots of that are held by none."""
    missing = sum(max(amount - held[key], 0) for key, amount in reserved.items() if key[1] == SLOTS)
    for card in sorted({card for card, _ in held}):
        memory, cores, slots = (max(held[card, what] - reserved[card, what], 0) for what in range(3))
        if memory or cores or slots:
            elsewhere = 0 < slots <= missing
            missing -= slots if elsewhere else 0
            yield card, Held("elsewhere" if elsewhere else "unreserved", (memory, cores, slots))


def sum_of(shares: Sequence[Mapping[str, Any]]) -> Uses:
    found: Uses = {}
    for share in shares:
        memory, cores, slots = found.get(share["uuid"], (0, 0, 0))
        found[share["uuid"]] = (memory + share["memory"], cores + share["cores"], slots + share.get("slots", 1))
    return found


def asked_of(container: Mapping[str, Any] | None, whole: int) -> tuple[int, int] | None:
    """MiB and percent of cores of each card: the memory that is named, or so many percent of it, or all."""
    if container is None:
        return None
    wanted = {**container.get("requests", {}), **container.get("limits", {})}
    percent = int(wanted.get("nvidia.com/gpumem-percentage", 100))
    memory = int(wanted.get("nvidia.com/gpumem", 0)) or whole * percent // 100
    return memory, int(wanted.get("nvidia.com/gpucores", 0))


Holding = dict[str, dict[tuple[Any, ...], tuple[Held, Account, Attempt | None, str]]]
"""By card and key: what is held, on whose account, of which attempt, and under which flavor."""


def put(known: list[tuple[int, Any]], starts: int, entered: int, what: Any) -> list[tuple[int, Any]]:
    """What is entered later than something that is in force by its beginning counts from when it was entered."""
    if any(begun <= starts for begun, _ in known):
        starts = max(starts, entered)
    return sorted([*(one for one in known if one[0] != starts), (starts, what)], key=lambda one: one[0])


def changed(known: dict[Any, list[tuple[int, int]]], key: Any, amount: int, at: int) -> None:
    before = known.setdefault(key, [])
    if not before or before[-1][1] != amount:
        before.append((max(at, before[-1][0]) if before else at, amount))


class Credit(NamedTuple):
    at: int
    place: str
    reason: str
    lines: tuple[Line, ...]


class Correction(NamedTuple):
    at: int
    place: str
    event: dict[str, Any]


class Reading:
    """What the log says was held, and where the time of each card went, up to a time."""

    def __init__(self, log: Log, until: int) -> None:
        self.until = until
        self._priced = {
            price["resource"]
            for stored in log[CONTROL]
            for event in json.loads(stored)["events"]
            for price in event.get("prices", ())
            if price["meter"] == "quota"
        }
        self.lines: list[Line] = []
        self.credits: list[Credit] = []
        self.corrections: list[Correction] = []
        self.prices: list[tuple[int, str]] = []
        """From when each list is in force, and where it stands."""
        self.price_lists: dict[str, dict[str, Any]] = {}
        self.rates: dict[tuple[str, str], list[tuple[int, Fraction]]] = {}
        self.accounts: list[tuple[int, dict[str, Any]]] = []
        self.moments: set[int] = set()
        """When something was entered about prices, or was to begin."""
        self.nominal: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
        """By queue, flavor and resource: from when it was how much."""
        self.ways: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
        """By cluster queue, namespace and local queue: from when that led there (1), and from when not (0)."""
        self.card_time: list[tuple[str, int, int, str, tuple[int, int, int], int, bool, str, str]] = []
        """Card, since, until, condition, totals, memory in use, whether it is held and nobody else can, model, flavor."""
        self.at = 0
        self._queues: dict[str, list[tuple[int, str]]] = {}
        """By workload: which facts have named which queue."""
        self._class: dict[str, str] = {}
        self._shapes: dict[str, dict[str, dict[str, Any]]] = {}
        self._labels: dict[str, tuple[tuple[str, str], ...]] = {}
        self._attempts: dict[tuple[str, int], Attempt] = {}
        self._current: dict[str, Attempt] = {}
        self._strayed: dict[str, Account] = {}
        self._pods: dict[str, tuple[str, Uses]] = {}
        self._nodes: dict[str, dict[str, Any]] = {}
        self._registered: dict[str, dict[str, Any]] = {}
        self._flavors: dict[str, dict[str, str]] = {}
        self._stands: dict[str, Stand] = {}
        self._held: Holding = {}
        self._began: dict[tuple[Any, ...], tuple[int, str]] = {}
        self._quota: dict[str, tuple[Attempt, str, Counter[tuple[str, str]], int, str]] = {}
        """By workload: whose quota it holds, as which kind of line, how much, since when, and where that stands."""
        self._since: dict[str, int] = {}
        self._facts: dict[str, int] = {}
        """By stream, how many facts were known where its decisions were made."""
        self._ended: dict[str, int] = {}
        """By workload, which fact tells that it is over."""
        for one in told(log):
            for stream, last in one.needs:
                if stream == FACTS:
                    self._facts[one.place.stream] = last
            for event in one.events:
                self._hear(event, one.place)
        self.end = min(self.at, until)
        for card in sorted(self._stands.keys() | self._held.keys()):
            self._settle(card, self.end)
            for key in self._held.get(card, {}):
                self._close(card, key, self.end, over=False)
        for workload in sorted(self._quota):
            self._close_quota(workload, self.end, over=False)

    def _hear(self, event: dict[str, Any], place: Place) -> None:  # noqa: C901 - one case after the other
        what = event["type"]
        if place.stream == CONTROL:
            self._operate(event, place)
            return
        self.at = max(self.at, place.at)
        key = event.get("workload", "")
        ended: Attempt | None = None
        if what == "WorkloadSubmitted.v1":
            self._queues.setdefault(key, [(0, event["spec"]["queue"])])
            self._shapes.setdefault(
                key, {one["name"]: one["shape"]["containers"][0] for one in event["spec"]["pod_sets"]}
            )
            self._labels.setdefault(key, tuple(sorted(event["spec"].get("labels", {}).items())))
            self._class.setdefault(key, event["spec"].get("priority_class", {}).get("name", ""))
        elif what == "WorkloadChanged.v1":
            self._queues[key].append((place.sequence, event["spec"]["queue"]))
        elif what == "QuotaReserved.v1":
            known = self._facts.get(place.stream, 0)
            account = Account(
                key.split("/")[0],
                key,
                place.sequence,
                event["cluster_queue"],
                max(one for one in self._queues.get(key, [(0, "")]) if one[0] <= known)[1],
                self._class.get(key, ""),
                self._labels.get(key, ()),
            )
            flavors = {
                one["name"]: min(flavor for resource, flavor in one["flavors"].items() if is_card(resource))
                for one in event["assignments"]
            }
            attempt = self._attempts[key, place.sequence] = self._current[key] = Attempt(account, flavors)
            attempt.finished = self._ended.get(key, 0) > self._facts.get(place.stream, 0)
            for one in event["assignments"] if not attempt.finished else ():
                for resource, amount in one["usage"].items():
                    if self._priced and (not is_card(resource) or resource in self._priced):
                        attempt.quota[one["flavors"][resource], resource] += amount
        elif what == "WorkloadAdmitted.v1" and key in self._current:
            self._current[key].admitted = True
        elif what == "PreemptionOrdered.v1" and key in self._current:
            self._current[key].stopped = self._current[key].stopped or "Preempted"
        elif what == "EvictionOrdered.v1" and key in self._current:
            self._current[key].stopped = self._current[key].stopped or event["reason"]
        elif what == "WorkloadFinished.v1":
            self._ended[key] = place.sequence
            if key in self._current:
                self._current[key].finished = True
                self._current[key].quota.clear()
        elif what == "QuotaReleased.v1" and key in self._current:
            self._current[key].quota.clear()
        elif what == "DevicesReserved.v1":
            attempt = self._attempts[key, event["reservation"]]
            attempt.placements = tuple(event["placements"])
            attempt.asked = self._shapes.get(key, {})
            attempt.nodes = self._whole_nodes(attempt)
            self._strayed[key] = attempt.account._replace(attempt=0)
        elif what == "DevicesReleased.v1":
            ended = self._attempts.pop((key, event["reservation"]), None)
            if self._current.get(key) is ended:
                self._current.pop(key, None)
        else:
            self._see(what, event)
            self._see_quota(what, event, place.at)
        self._look(place)
        self._look_at_quota(place)
        if ended is not None and ended.stopped and not ended.finished and ended.lines:
            where = f"{place.stream}/{place.sequence}"
            self.credits.append(Credit(place.at, where, ended.stopped, tuple(ended.lines)))

    def _look_at_quota(self, place: Place) -> None:
        """Who holds how much of what quota by now; where that differs, time is cut."""
        held = {
            attempt.account.workload: (attempt, "usage" if attempt.admitted else "reservation", +attempt.quota)
            for attempt in self._current.values()
            if attempt.quota
        }
        where = f"{place.stream}/{place.sequence}"
        for workload in sorted(self._quota.keys() | held.keys()):
            before, after = self._quota.get(workload), held.get(workload)
            if before is not None and after is not None and before[:3] == after:
                continue
            at = place.at if before is None else max(place.at, before[3])
            if before is not None:
                self._close_quota(workload, at, over=True)
                attempt = before[0]
                del self._quota[workload]
                if (after is None or after[0] is not attempt) and attempt.stopped and not attempt.finished:
                    self.credits.append(Credit(place.at, where, attempt.stopped, tuple(attempt.quota_lines)))
            if after is not None:
                self._quota[workload] = (*after, at, where)

    def _close_quota(self, workload: str, at: int, *, over: bool) -> None:
        attempt, kind, amounts, since, began = self._quota[workload]
        for (flavor, resource), amount in amounts.items() if at > since else ():
            line = Line(
                *attempt.account,
                *(kind, "", "", "", flavor, (0, 0, 0), 0, 0, 0, ("", 0), since, at, began, over, resource, amount),
            )
            self.lines.append(line)
            if over:
                attempt.quota_lines.append(line)

    def _see(self, what: str, event: dict[str, Any]) -> None:
        if what == "PodObserved.v1":
            on = event.get("node") or event.get("assigned")
            ended = event.get("phase", "Pending") in {"Succeeded", "Failed"}
            name = f"{event['namespace']}/{event['name']}"
            shares = [share for container in event.get("shares", ()) for share in container]
            self._pods[name] = (event.get("workload") or f"pod:{name}", {} if ended or not on else sum_of(shares))
        elif what == "NodeObserved.v1":
            self._nodes[event["name"]] = event
        elif what == "DevicesRegistered.v1":
            self._registered[event["node"]] = event
        elif what == "FlavorObserved.v1":
            self._flavors[event["name"]] = event.get("node_labels", {})
        elif what == "ObjectRemoved.v1" and event["kind"] == "Node":
            self._nodes.pop(event["name"], None)
            self._registered.pop(event["name"], None)
        elif what == "ObjectRemoved.v1" and event["kind"] == "Pod":
            self._pods.pop(f"{event['namespace']}/{event['name']}", None)

    def _see_quota(self, what: str, event: dict[str, Any], at: int) -> None:
        if what == "ClusterQueueObserved.v1":
            has = {
                (event["name"], quotas["flavor"], quota["resource"]): quota["nominal"]
                for group in event["groups"]
                for quotas in group["flavors"]
                for quota in quotas["quotas"]
            }
            for key in has.keys() | {key for key in self.nominal if key[0] == event["name"]}:
                changed(self.nominal, key, has.get(key, 0), at)
        elif what == "LocalQueueObserved.v1":
            changed(self.ways, (event["cluster_queue"], event["namespace"], event["name"]), 1, at)

    def _whole_nodes(self, attempt: Attempt) -> dict[str, int]:
        whole = set[str]()
        for one in attempt.placements:
            for card, amounts in sum_of([share for shares in one["containers"] for share in shares]).items():
                of = self._stands.get(card, GONE).whole
                if any(part >= all_of > 0 for part, all_of in zip(amounts, of, strict=True)):
                    whole.add(card)
        found: dict[str, int] = {}
        for registered in self._registered.values():
            cards = [card["uuid"] for card in registered["cards"]]
            if whole >= set(cards):
                found |= dict.fromkeys(cards, len(cards))
        return found

    def payer_of(self, tenant: str, queue: str, labels: Mapping[str, str], at: int) -> Payer:
        rules = [event["rules"] for starts, event in self.accounts if starts <= at]
        for rule in rules[-1] if rules else ():
            wanted = rule.get("label", "=").split("=")
            fits = rule.get("namespace", tenant) == tenant and rule.get("cluster_queue", queue) == queue
            fits = fits and (not wanted[0] or labels.get(wanted[0]) == wanted[1])
            named = [rule[word] for word in ("account_label", "cost_center_label") if word in rule]
            if fits and all(label in labels for label in named):
                account = rule.get("account") or labels.get(rule.get("account_label", ""), "")
                center = rule.get("cost_center") or labels.get(rule.get("cost_center_label", ""), "")
                return Payer(account or tenant, center, bool(account))
        return Payer(tenant, "", False)

    def rate_at(self, prices: str, at: int) -> Fraction | None:
        event = self.price_lists[prices]
        if event.get("billed_in", event["currency"]) == event["currency"]:
            return Fraction(1)
        known = self.rates.get((event["currency"], event["billed_in"]), ())
        found = [rate for starts, rate in known if starts <= at]
        return found[-1] if found else None

    def _operate(self, event: dict[str, Any], place: Place) -> None:
        where = f"{place.stream}/{place.sequence}"
        if "starts" in event:
            self.moments |= {event["starts"], place.at}
        if event["type"] == "AccountsSet.v1":
            self.accounts = put(self.accounts, event["starts"], place.at, event)
        if event["type"] == "ExchangeRateSet.v1":
            pair = (event["currency"], event["billed_in"])
            self.rates[pair] = put(self.rates.get(pair, []), event["starts"], place.at, Fraction(event["rate"]))
        if event["type"] == "PriceListSet.v1":
            starts = event["starts"]
            if any(begun <= starts for begun, _ in self.prices):
                starts = max(starts, place.at)
            self.prices = sorted([*(one for one in self.prices if one[0] != starts), (starts, where)])
            self.price_lists[where] = event
        elif event["type"] == "CorrectionEntered.v1":
            self.corrections.append(Correction(place.at, where, event))

    def place_of(self, flavor: str) -> tuple[str, str]:
        labels = self._flavors.get(flavor, {})
        return labels.get("topology.kubernetes.io/region", ""), labels.get("topology.kubernetes.io/zone", "")

    def labels_of(self, flavor: str) -> dict[str, str]:
        return self._flavors.get(flavor, {})

    def price_at(self, at: int) -> str:
        found = bisect_right([one[0] for one in self.prices], at)
        return self.prices[found - 1][1] if found else ""

    def _look(self, place: Place) -> None:
        """Find anew how every card stands and who holds what of it; where that differs, time is cut."""
        stands, held = self._standing(), self._holding()
        for card in sorted(self._stands.keys() | self._held.keys() | stands.keys() | held.keys()):
            # Who registers a card last says what it is; one that is gone keeps its name, so that its holders are known by it.
            before, after = self._stands.get(card, GONE), stands.get(card)
            if after is None:
                after = before._replace(condition="GONE")
            mine, theirs = self._held.get(card, {}), held.get(card, {})
            if before == after and {k: v[:2] for k, v in mine.items()} == {k: v[:2] for k, v in theirs.items()}:
                continue
            at = max(place.at, self._since.get(card, 0))
            self._settle(card, at)
            where = f"{place.stream}/{place.sequence}"
            moved = (before.condition in PAID) != (after.condition in PAID) or before[1:4] != after[1:4]
            for key in list(mine):
                ended = key not in theirs or theirs[key][:2] != mine[key][:2]
                if moved or ended:
                    self._close(card, key, at, over=True)
                if ended:
                    del mine[key]
            self._stands[card] = after
            for key, one in theirs.items():
                if key not in mine:
                    mine[key] = one
                if after.condition in PAID and (card, key) not in self._began:
                    self._began[card, key] = (at, where)
            self._held[card] = mine

    def _standing(self) -> dict[str, Stand]:
        found: dict[str, Stand] = {}
        for node, registered in self._registered.items():
            seen = self._nodes.get(node)
            for card in registered["cards"]:
                if seen is None:
                    condition = "GONE"
                elif not seen.get("ready", True):
                    condition = "LOST"
                elif not card.get("healthy", True):
                    condition = "UNHEALTHY"
                elif card["uuid"] in registered.get("cordoned", ()) or seen.get("unschedulable"):
                    condition = "CORDONED"
                else:
                    condition = "OK"
                labels = seen.get("labels", {}) if seen is not None else {}
                flavors = [name for name, of in sorted(self._flavors.items()) if of and of.items() <= labels.items()]
                whole = (card["memory"], card.get("cores", 100), card["slots"])
                flavor = flavors[0] if flavors else ""
                found[card["uuid"]] = Stand(condition, node, card["model"], whole, flavor)
        return found

    def _holding(self) -> Holding:
        found: Holding = {}
        reserved: dict[str, Counter[tuple[str, int]]] = {}
        for (workload, number), attempt in self._attempts.items():
            for one in attempt.placements:
                for card, amounts in sum_of([share for shares in one["containers"] for share in shares]).items():
                    key = (workload, number, one["pod_set"], one["index"])
                    kind = "usage" if attempt.admitted else "reservation"
                    flavor = attempt.flavors[one["pod_set"]]
                    whole = self._stands.get(card, GONE).whole[0]
                    asked = asked_of(attempt.asked.get(one["pod_set"]), whole)
                    held_now = Held(kind, amounts, attempt.nodes.get(card, 0), asked)
                    found.setdefault(card, {})[key] = (held_now, attempt.account, attempt, flavor)
                    weigh(reserved, workload, card, amounts)
        held: dict[str, Counter[tuple[str, int]]] = {}
        for owner, uses in self._pods.values():
            for card, amounts in uses.items():
                weigh(held, owner, card, amounts)
        for owner in sorted(held):
            stray = owner.removeprefix("pod:")
            account = self._strayed.get(owner, Account(stray.split("/")[0], owner, 0, "", "", ""))
            for card, one in beyond(held[owner], reserved.get(owner, Counter())):
                found.setdefault(card, {})[owner, 0, "", 0] = (one, account, None, "")
        return found

    def _settle(self, card: str, at: int) -> None:
        stand, since = self._stands.get(card, GONE), self._since.get(card, 0)
        if stand.condition != "GONE" and at > since:
            amounts = [one.amounts for one, _, _, _ in self._held.get(card, {}).values()]
            memory, cores, slots = (sum(one[what] for one in amounts) for what in range(3))
            full = slots >= stand.whole[2] or memory >= stand.whole[0] > 0 or cores >= stand.whole[1] > 0
            held = bool(amounts) and full
            of = (stand.condition, stand.whole, memory, held, stand.model, stand.flavor)
            self.card_time.append((card, since, at, *of))
        self._since[card] = at

    def _close(self, card: str, key: tuple[Any, ...], at: int, *, over: bool) -> None:
        began = self._began.pop((card, key), None)
        if began is None or at <= began[0]:
            return
        held, account, attempt, flavor = self._held[card][key]
        stand = self._stands.get(card, GONE)
        line = Line(
            *account,
            kind=held.kind,
            card=card,
            model=stand.model,
            node=stand.node,
            flavor=flavor or stand.flavor,
            whole=stand.whole,
            memory=held.amounts[0],
            cores=held.amounts[1],
            slots=held.amounts[2],
            pod=(key[2], key[3]),
            since=began[0],
            until=at,
            began=began[1],
            over=over,
            node_cards=held.node_cards,
            asked=held.asked,
        )
        self.lines.append(line)
        if attempt is not None and over:
            attempt.lines.append(line)

    def card_sums(self, since: int, until: int) -> Counter[tuple[str, str]]:
        """MiB·ms by card and part within a window, with `CAPACITY` for what they must come to."""
        found: Counter[tuple[str, str]] = Counter()
        for card, begun, ended, condition, whole, memory, full, _, _ in self.card_time:
            length = max(min(ended, until) - max(begun, since), 0)
            total = whole[0]
            found[card, "CAPACITY"] += total * length
            if condition not in PAID:
                found[card, condition] += total * length
                continue
            found[card, "USED"] += memory * length
            rest = "CORDONED" if condition == "CORDONED" else "STRANDED" if full else "IDLE"
            found[card, rest] += max(total - memory, 0) * length
            found[card, "OVER"] += max(memory - total, 0) * length
        return Counter({key: amount for key, amount in found.items() if amount})


class Auditor:
    """Bills of a log. `named` says which line an entry's id stands for, as the bill has shown it to who corrects it."""

    def __init__(self, log: Log, named: Mapping[str, tuple[object, ...]]) -> None:
        self.log, self.named = log, named
        self.closed = [
            (event, f"{CONTROL}/{i}")
            for i, stored in enumerate(log[CONTROL], 1)
            for event in json.loads(stored)["events"]
            if event["type"] == "MonthClosed.v1"
        ]

    def reading(self, since: int) -> Reading:
        """What the bill of a month rests on: the log, or what it was when the month was closed."""
        return Reading(self._log_of(since), month_after(since))

    def rows(self, since: int) -> list[Row]:
        """The bill of a month."""
        month, until = month_name(since), month_after(since)
        before = [one for one in self.closed if one[0]["month"] < month]
        reading = self.reading(since)
        carried = bool(before) and month_after(start_of(before[-1][0]["month"])) == since
        learnt = list(self._learnt_since(before, self._log_of(since), since)) if carried else []
        own = [row for part in self._parts(reading, since, until) for row in rows_of(part, reading)]
        own += self._entered(reading, since)
        own += shares_of_unused(reading, since)
        found = own + terms_of_month(own, reading, since)
        found += [row for part in learnt for row in rows_of(part, reading)]
        if carried:
            found += self._learnt_besides(before, self._log_of(since), since)
        return [*found, *self._roundings(found, reading, since)]

    def _entered(self, reading: Reading, since: int) -> list[Row]:
        found: list[Row] = []
        for one in reading.corrections:
            if "amount" in one.event and since <= one.at < month_after(since):
                about, tenant = one.event.get("about", one.at), one.event["tenant"]
                payer = reading.payer_of(tenant, "", {}, one.at)
                amount = Fraction(one.event["amount"])
                found.append(amount_row(tenant, payer, "correction", amount, one.at, about, one.place))
        return found

    def _learnt_besides(self, before: Sequence[tuple[dict[str, Any], str]], log: Log, booked: int) -> list[Row]:
        """What shares of unused cards and monthly terms of closed months come to otherwise by now."""
        end = month_after(start_of(before[-1][0]["month"]))
        then, now = Reading(upto(log, before[-1][0]["upto"]), end), Reading(log, end)
        sums: dict[tuple[str, Payer, int, str], Fraction] = {}
        for event, _ in before:
            since = start_of(event["month"])
            for reading, sign in ((then, -1), (now, 1)):
                parts = self._parts(reading, since, month_after(since))
                own = [row for part in parts for row in rows_of(part, reading)] + self._entered(reading, since)
                unused = shares_of_unused(reading, since)
                for row in unused + terms_of_month(own + unused, reading, since):
                    key = (row.tenant, Payer(row.account, row.cost_center, row.mapped), row.since, row.kind)
                    sums[key] = sums.get(key, Fraction(0)) + sign * row.cost
        place = before[-1][1]
        return [
            amount_row(tenant, payer, "correction", cost, booked, about, place)
            for (tenant, payer, about, _), cost in sums.items()
            if cost
        ]

    def _log_of(self, since: int) -> Log:
        for event, _ in self.closed:
            if event["month"] == month_name(since):
                return upto(self.log, event["upto"])
        return self.log

    def _parts(self, reading: Reading, since: int, until: int) -> Iterator[Part]:
        for line in reading.lines:
            begin, end = max(line.since, since), min(line.until, until)
            yield from cut(reading, line._replace(since=begin, until=end), line, line.kind, 1, None, "")
        stands: dict[tuple[object, ...], tuple[tuple[Line, ...], bool]] = {}
        changes: list[tuple[int, int, Credit | Correction]] = [
            *((one.at, 1, one) for one in reading.credits),
            *((one.at, 0, one) for one in reading.corrections),
        ]
        for at, _, change in sorted(changes, key=lambda one: one[:2]):
            if isinstance(change, Credit):
                found = given_back(reading, change, stands)
            else:
                found = self._corrected(reading, change, stands)
            if since <= at < until:
                yield from found

    def _corrected(
        self, reading: Reading, change: Correction, stands: dict[tuple[object, ...], tuple[tuple[Line, ...], bool]]
    ) -> list[Part]:
        by_name = {name_of(line): line for line in reading.lines if line.over}
        line = by_name.get(self.named.get(change.event.get("entry", ""), ()))
        if line is None:
            return []
        left, credited = stands.get(name_of(line), ((line,), False))
        if credited and not change.event.get("allow_negative"):
            return []
        right: tuple[Line, ...] = ()
        if "since" in change.event and "until" in change.event:
            right = (line._replace(since=change.event["since"], until=change.event["until"]),)
        stands[name_of(line)] = (right, False)
        return [
            part
            for sign, lines in ((-1, (line,) if credited else left), (1, right))
            for one in lines
            for part in cut(reading, one, line, "correction", sign, change.at, change.place)
        ]

    def _learnt_since(self, before: Sequence[tuple[dict[str, Any], str]], log: Log, booked: int) -> Iterator[Part]:
        end = month_after(start_of(before[-1][0]["month"]))
        then, now = Reading(upto(log, before[-1][0]["upto"]), end), Reading(log, end)
        for event, _ in before:
            since = start_of(event["month"])
            old = Counter(self._parts(then, since, month_after(since)))
            new = Counter(self._parts(now, since, month_after(since)))
            for parts, sign in ((old - new, -1), (new - old, 1)):
                for part in parts.elements():
                    kind = part.kind if part.kind == "credit" else "correction"
                    yield part._replace(kind=kind, sign=part.sign * sign, booked=booked, place=before[-1][1])

    def _roundings(self, rows: Sequence[Row], reading: Reading, since: int) -> Iterator[Row]:
        due: dict[str, Fraction] = {}
        for row in rows:
            due[row.account] = due.get(row.account, Fraction(0)) + row.cost
        prices = reading.price_at(month_after(since) - 1)
        prices = prices or reading.price_at(reading.at)
        for account, total in sorted(due.items()) if prices else ():
            off = round(total, reading.price_lists[prices].get("decimals", 2)) - total
            if off:
                mapped = any(row.mapped for row in rows if row.account == account)
                payer = Payer(account, "", mapped)
                yield amount_row("" if mapped else account, payer, "rounding", off, since, since, "")


def stretches(reading: Reading, since: int) -> list[tuple[int, int]]:
    """A month, cut at every moment at which something was entered about prices or was to begin."""
    until = month_after(since)
    edges = sorted({since, until, *(one for one in reading.moments if since < one < until)})
    return list(zip(edges, edges[1:], strict=False))


def overlap(since: int, until: int, begin: int, end: int) -> int:
    return max(min(until, end) - max(since, begin), 0)


def shared_out(cost: Fraction, parts: Mapping[Any, Fraction | int]) -> dict[Any, Fraction]:
    """In proportion, in whole 10^-10; what is left over goes to the largest remainders, of equals by name."""
    whole, units = sum(parts.values()), cost * 10**10
    if not whole:
        return {}
    exact = {who: units * part / whole for who, part in parts.items()}
    given = {who: amount // 1 for who, amount in exact.items()}
    rest = int(units - sum(given.values()))
    for who in sorted(parts, key=lambda who: (given[who] - exact[who], name_of_payer(who)))[:rest]:
        given[who] += 1
    return {who: Fraction(amount, 10**10) for who, amount in given.items()}


def name_of_payer(who: Any) -> str:
    if isinstance(who, str):
        return who
    tenant, payer = who
    return "\n".join((tenant, payer.account, payer.cost_center, str(payer.mapped)))


def shares_of_unused(reading: Reading, since: int) -> list[Row]:
    """What idle and stranded card memory costs each, as rows."""
    found: list[Row] = []
    for begin, end in stretches(reading, since):
        prices = reading.price_at(begin)
        rate = reading.rate_at(prices, begin) if prices else None
        if rate is None:
            continue
        for what in ("idle", "stranded"):
            free: dict[tuple[str, str], int] = {}
            for _, begun, ended, condition, whole, memory, full, model, flavor in reading.card_time:
                if condition == "OK" and full is (what == "stranded") and whole[0] > memory:
                    length = overlap(begun, ended, begin, end)
                    free[flavor, model] = free.get((flavor, model), 0) + (whole[0] - memory) * length
            for (flavor, model), amount in free.items():
                fits = [
                    one
                    for one in reading.price_lists[prices]["prices"]
                    if one["meter"] == what and one.get("flavor", flavor) == flavor and one.get("model", model) == model
                ]
                if not fits or not amount:
                    continue
                price = max(fits, key=lambda one: ("flavor" in one, "model" in one))
                cost = round(Fraction(price["unit_price"]) * rate * amount / 1024 / HOUR, 10)
                for (tenant, payer), share in sorted(spread(reading, price, cost, flavor, model, begin, end).items()):
                    if share:
                        found.append(amount_row(tenant, payer, what, share, begin, begin, prices))
    return found


def spread(
    reading: Reading, price: Mapping[str, str], cost: Fraction, flavor: str, model: str, begin: int, end: int
) -> dict[tuple[str, Payer], Fraction]:
    how = price.get("spread", "use")
    parts: dict[tuple[str, Payer], int] = {}
    if how == "use":
        for line in reading.lines:
            if line.card and line.model == model and (not flavor or line.flavor == flavor):
                held = line.memory * overlap(line.since, line.until, begin, end)
                who = (line.tenant, reading.payer_of(line.tenant, line.queue, dict(line.labels), begin))
                parts[who] = parts.get(who, 0) + held
        return shared_out(cost, {who: amount for who, amount in parts.items() if amount})
    shares: dict[tuple[str, Payer], Fraction] = {}
    if how == "quota":
        columns = {key[0]: key for key in reading.nominal if key[1:] == (flavor, price["resource"])}
        nominal = {queue: area(reading.nominal[key], begin, end) for queue, key in columns.items()}
        for queue, part in shared_out(cost, {queue: one for queue, one in nominal.items() if one}).items():
            spaces: dict[str, int] = {}
            for (leads, space, _), times in reading.ways.items():
                if leads == queue:
                    spaces[space] = spaces.get(space, 0) + area(times, begin, end)
            for space, share in shared_out(part, {one: much for one, much in spaces.items() if much}).items():
                who = (space, reading.payer_of(space, queue, {}, begin))
                shares[who] = shares.get(who, Fraction(0)) + share
    return shares


def area(steps: Sequence[tuple[int, int]], begin: int, end: int) -> int:
    """Amount x milliseconds of what has changed in steps."""
    ends = [*(at for at, _ in steps[1:]), 2**62]
    return sum(amount * overlap(at, until, begin, end) for (at, amount), until in zip(steps, ends, strict=True))


def terms_of_month(rows: Sequence[Row], reading: Reading, since: int) -> list[Row]:
    """Discounts, commitments and minimum charges of a month whose rows are these."""
    prices = reading.price_at(month_after(since) - 1)
    if not prices or since > reading.at:
        return []
    event, found = reading.price_lists[prices], list[Row]()
    due: dict[str, Fraction] = {}
    for row in rows:
        due[row.account] = due.get(row.account, Fraction(0)) + row.cost
    by_rule = {row.account for row in rows if row.mapped}
    named = [one["account"] for one in (*event.get("commitments", ()), *event.get("minimums", ())) if "account" in one]
    for account in named:
        if account not in due:
            due[account] = Fraction(0)
            by_rule |= {account} - {"team", "lab"}
    for account, total in sorted(due.items()):
        mapped = account in by_rule
        payer, tenant = Payer(account, "", mapped), "" if mapped else account
        found += [
            amount_row(tenant, payer, kind, cost, since, since, prices)
            for kind, cost in terms_of(event, account, total)
            if cost
        ]
    return found


def own_of(terms: Sequence[dict[str, Any]], account: str) -> list[dict[str, Any]]:
    own = [one for one in terms if one.get("account", "") == account]
    return own or [one for one in terms if "account" not in one]


def terms_of(event: Mapping[str, Any], account: str, total: Fraction) -> Iterator[tuple[str, Fraction]]:
    left = total
    own = own_of(event.get("discounts", ()), account)
    steps = sorted((Fraction(one.get("above", "0")), Fraction(one["percent"])) for one in own)
    ends = [*(above for above, _ in steps[1:]), Fraction(10**20)]
    for (above, percent), end in zip(steps, ends, strict=False):
        taken = -round(max(min(total, end) - above, Fraction(0)) * percent / 100, 10)
        left += taken
        yield "discount", taken
    paid = Fraction(0)
    for one in event.get("commitments", ()):
        if one["account"] == account:
            covered = min(max(left, Fraction(0)), Fraction(one["covers"]))
            left, paid = left - covered, paid + Fraction(one["price"])
            yield "commitment", Fraction(one["price"])
            yield "covered", -covered
    for one in own_of(event.get("minimums", ()), account)[:1]:
        yield "minimum", max(Fraction(one["amount"]) - left - paid, Fraction(0))


def given_back(
    reading: Reading, change: Credit, stands: dict[tuple[object, ...], tuple[tuple[Line, ...], bool]]
) -> list[Part]:
    prices, found = reading.price_at(change.at), list[Part]()
    if not prices or change.reason not in reading.price_lists[prices].get("credits", ["Preempted"]):
        return []
    for line in change.lines:
        left, _ = stands.get(name_of(line), ((line,), False))
        stands[name_of(line)] = ((), True)
        for one in left:
            back = cut(reading, one, line, "credit", -1, change.at, change.place)
            found += [part for part in back if status(part, reading) == "PRICED"]
    return found


def start_of(month: str) -> int:
    return int(datetime.fromisoformat(f"{month}-01T00:00:00+00:00").timestamp()) * 1000


def upto(log: Log, ends: Mapping[str, int]) -> Log:
    return {stream: stored[: ends.get(stream, 0)] for stream, stored in log.items()}


def name_of(line: Line) -> tuple[object, ...]:
    """What tells a line from all others: whose it is, of which card, and where it began."""
    of_quota = (line.flavor, line.resource) if line.resource else ("", "")
    return (line.workload, line.attempt, line.kind, line.card, *line.pod, line.since, line.began, *of_quota)


def cut(reading: Reading, piece: Line, line: Line, kind: str, sign: int, booked: int | None, place: str) -> list[Part]:
    found, since = list[Part](), piece.since
    starts = [one[0] for one in (*reading.prices, *reading.accounts)]
    starts += [begun for known in reading.rates.values() for begun, _ in known]
    while since < piece.until:
        until = min([piece.until, month_after(since), *(one for one in starts if one > since)])
        windows = reading.price_lists[reading.price_at(since)].get("windows", ()) if reading.price_at(since) else ()
        until = min([until, *(shut for one in windows for shut in turns(one) if shut > since)])
        # To which part of the line it belongs is told by its times; the line itself stays as it was entered.
        named = line._replace(until=0, over=False)
        entered = since if booked is None else booked
        prices = reading.price_at(since)
        if not line.resource or (prices and any("resource" in one for one in reading.price_lists[prices]["prices"])):
            payer = reading.payer_of(line.tenant, line.queue, dict(line.labels), since)
            rate = reading.rate_at(prices, since) if prices else None
            found.append(Part(named, kind, since, until, sign, prices, entered, place, payer, rate))
        since = until
    return found


@cache
def turned(zone: str, begin: int, end: int, days: tuple[int, ...]) -> tuple[int, ...]:
    """When a window opens or shuts in the years of the tests: every quarter of an hour is asked."""
    quarters = range(start_of("2026-10"), start_of("2027-06"), HOUR // 4)
    seen = [shown_open(zone, begin, end, days, at) for at in quarters]
    return tuple(at for at, was, now in zip(quarters[1:], seen, seen[1:], strict=False) if was != now)


def turns(window: Mapping[str, Any]) -> tuple[int, ...]:
    return turned(*zone_and_hours(window))


def is_open(window: Mapping[str, Any], at: int) -> bool:
    return shown_open(*zone_and_hours(window), at)


def zone_and_hours(window: Mapping[str, Any]) -> tuple[str, int, int, tuple[int, ...]]:
    return window["zone"], window["begin"], window["end"], tuple(window.get("days", range(7)))


def shown_open(zone: str, begin: int, end: int, days: tuple[int, ...], at: int) -> bool:
    """By the clocks of the zone as Python's own library has them, not as the log has recorded them."""
    then = datetime.fromtimestamp(at // 1000, ZoneInfo(zone))
    hour = ((then.hour * 60 + then.minute) * 60 + then.second) * 1000 + at % 1000
    today, yesterday = then.weekday() in days, (then.weekday() - 1) % 7 in days
    if begin < end:
        return today and begin <= hour < end
    return (today and hour >= begin) or (yesterday and hour < end)


def status(part: Part, reading: Reading) -> str:
    if not part.prices:
        return "UNPRICED"
    event = reading.price_lists[part.prices]
    if part.line.kind not in event.get("charges", ["usage", "reservation", "unreserved"]):
        return "FREE"
    if part.rate is None:
        return "UNPRICED"
    return "PRICED" if rates(part, event, reading) else "UNPRICED"


def rates(part: Part, event: Mapping[str, Any], reading: Reading) -> dict[str, tuple[Fraction, Fraction]]:
    """List price and agreed price by meter."""
    line = part.line
    open_now = {one["name"] for one in event.get("windows", ()) if is_open(one, part.since)}
    labels = {f"{key}={value}" for key, value in reading.labels_of(line.flavor).items()}
    found: dict[str, tuple[Fraction, Fraction]] = {}
    for price in (one for one in event["prices"] if one["meter"] not in ("idle", "stranded", "lent")):
        own = [one for one in event["prices"] if one["meter"] == price["meter"] and suits(one, line, open_now, labels)]
        if own:
            public = [one for one in own if not one.get("tenant")] or own
            agreed = [one for one in own if one.get("tenant")] or own
            pick = [
                max(one, key=lambda p: tuple(word in p for word in WORDS))["unit_price"] for one in (public, agreed)
            ]
            found[price["meter"]] = (Fraction(pick[0]), Fraction(pick[1]))
    if line.node_cards and "node" in found:
        return {"node": found["node"]}
    if line.exclusive and "exclusive" in found:
        return {"exclusive": found["exclusive"]}
    return {meter: rate for meter, rate in found.items() if meter not in ("exclusive", "node")}


WORDS = ("priority_class", "flavor", "model", "flavor_label", "window")


def suits(price: Mapping[str, str], line: Line, open_now: set[str], labels: set[str]) -> bool:
    if not {price[word] for word in ("window", "flavor_label") if word in price} <= open_now | labels:
        return False
    wanted = {"flavor": line.flavor, "model": line.model, "tenant": line.tenant, "priority_class": line.priority}
    return price.get("resource", "") == line.resource and all(
        price.get(name, is_) == is_ for name, is_ in wanted.items()
    )


def hours(line: Line, meter: str, length: int) -> Fraction:
    if meter == "quota":
        return Fraction(line.amount * length, {"cpu": 1000, "memory": 2**30}[line.resource] * HOUR)
    memory, cores, slots = (
        Fraction(one, whole or 1) for one, whole in zip((line.memory, line.cores, line.slots), line.whole, strict=True)
    )
    amount = {
        "memory": Fraction(line.memory, 1024),
        "cores": cores,
        "dominant": max(memory, cores, slots),
        "card": Fraction(1),
        "exclusive": Fraction(line.exclusive),
        "slots": Fraction(line.slots),
        "node": Fraction(1, line.node_cards or 1),
    }
    return amount[meter] * length / HOUR


def rows_of(part: Part, reading: Reading) -> Iterator[Row]:
    if status(part, reading) != "PRICED":
        return
    line, length = part.line, (part.until - part.since) * part.sign
    late = month_of(part.since) < month_of(part.booked)
    counted = part.kind != "credit" and (part.sign > 0 or late)
    category = "Usage" if counted else "Credit" if part.kind == "credit" else "Adjustment"
    event, rate = reading.price_lists[part.prices], part.rate or Fraction(0)
    for meter, (listed, agreed) in rates(part, event, reading).items():
        quantity = hours(line, meter, length)
        yield Row(
            tenant=line.tenant,
            workload=line.workload,
            attempt=line.attempt,
            queue=line.queue,
            local_queue=line.local_queue,
            kind=part.kind,
            category=category,
            correction=counted and late,
            card=line.card,
            since=part.since,
            until=part.until,
            memory=line.memory,
            cores=line.cores,
            flavor=line.flavor,
            place=part.place or line.began,
            meter=meter if counted else "",
            quantity=round(quantity, 18) if counted else None,
            list_cost=round(listed * rate * quantity, 10),
            cost=round(agreed * rate * quantity, 10),
            month=month_name(part.booked),
            resource=line.resource,
            amount=line.amount,
            tags=tuple(one for one in line.labels if one[0] in event.get("tags", ())),
            account=part.payer.account,
            cost_center=part.payer.cost_center,
            mapped=part.payer.mapped,
            asked=line.asked,
            place_given=reading.place_of(line.flavor),
            pricing=round(agreed * quantity, 10) if "billed_in" in event else None,
        )


def amount_row(tenant: str, payer: Payer, kind: str, cost: Fraction, booked: int, about: int, place: str) -> Row:
    late = month_of(about) < month_of(booked)
    category = {"commitment": "Purchase", "covered": "Credit"}.get(kind, "Adjustment")
    row = Row(
        *(tenant, "", 0, "", "", kind, category, late, "", month_of(about), month_after(about)),
        *(0, 0, "", place, "", None, cost, cost, month_name(booked)),
    )
    return row._replace(account=payer.account, cost_center=payer.cost_center, mapped=payer.mapped)
