"""The words of an explanation: what stands in the way of a workload, in numbers, and what would change that."""

from enum import StrEnum

import msgspec

from events.admission import Considered
from events.amount import UNLIMITED
from events.event import Millis
from projections.devices.capacity.fragmentation import Advice
from projections.set_aside.left_alone import LeftAlone
from projections.topology.placement.nearest import NearestDomains


def in_numbers(amount: int) -> int:
    """An amount as it is told: -1 where it has no bound."""
    return -1 if amount == UNLIMITED else amount


class Tier(StrEnum):
    """Where the reason lies that a workload is pending."""

    NOTHING = "nothing"
    """It does not wait."""
    SPEC = "your spec"
    QUEUE = "your queue"
    COHORT = "the cohort"
    CHECK = "a check"
    DEVICE = "a device"
    TOPOLOGY = "its topology"
    """Quota suffices, and no domain has room for its pods."""
    TIME = "time"
    CLUSTER = "the cluster"
    """It takes more slowly what is decided than it could be decided, or pods of others there have to be ready first."""
    RULES = "an error of kuelog's"
    """A service has failed on it."""


class Borrower(msgspec.Struct, frozen=True, kw_only=True):
    """A queue that uses more than its own of something, and the workloads that hold it, the first to give it back first."""

    cluster_queue: str
    over: int
    workloads: tuple[str, ...] = ()


class Shortage(msgspec.Struct, frozen=True, kw_only=True):
    """One flavor and resource that a workload asks for, in the units of the resource; -1 stands for no bound."""

    flavor: str
    resource: str
    asked: int
    available: int
    missing: int
    potential: int
    """What it could have if nobody used anything."""
    nominal: int
    used: int
    """By its own queue."""
    lent: int
    """Of the queue's own, what others use."""
    obstacle: str = ""
    """Why its pods may not run on this flavor, whatever the quota."""
    borrowers: tuple[Borrower, ...] = ()


class Staying(msgspec.Struct, frozen=True, kw_only=True):
    """Workloads that hold what another one lacks, and the one reason for which none of them is preempted for it."""

    reason: str
    """A `Verdict` of a recorded refusal, or more exactly: NeverPreempt, MinimumRuntime, Cooldown, Leaving or BorrowingForbids."""
    count: int
    cluster_queues: tuple[str, ...]
    """The first of the queues in which they are, by name."""
    workloads: tuple[str, ...]
    """The first of them."""
    until: Millis = 0
    """When time protects the first of them no longer; 0 where it is not time that does."""
    message: str


class Raise(msgspec.Struct, frozen=True, kw_only=True):
    """A raise of a queue's nominal quota that admits the workload: tried with all other pending workloads."""

    cluster_queue: str
    flavor: str
    resource: str
    nominal: int
    by: int


class QueuePosition(msgspec.Struct, frozen=True, kw_only=True):
    """Its position in its cluster queue, from 1."""

    position: int = 0
    waiting: int = 0
    ahead: tuple[str, ...] = ()
    """The first of those before it."""


class ShareChange(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the quota tree before and after a preemption, for one flavor and resource."""

    node: str
    flavor: str
    resource: str
    owned: int
    used_before: int
    used_after: int
    share_before: str
    share_after: str


class StoppedOnce(msgspec.Struct, frozen=True, kw_only=True):
    """One time that a workload had to stop, and why."""

    at: Millis
    partition: str
    sequence: int
    kind: str
    """preempted, evicted or deactivated."""
    reason: str
    message: str = ""
    by: str = ""
    rule: str = ""
    requested: str = ""
    """Position of the `PreemptionRequested` on the log."""
    victims: tuple[str, ...] = ()
    considered: tuple[Considered, ...] = ()
    standings: tuple[ShareChange, ...] = ()


class Explanation(msgspec.Struct, kw_only=True):
    """All that there is to say about a workload."""

    workload: str
    job: str
    local_queue: str
    cluster_queue: str
    priority: int
    state: str
    since: Millis
    tier: Tier = Tier.NOTHING
    reason: str = ""
    message: str = ""
    line: QueuePosition = QueuePosition()
    shortages: tuple[Shortage, ...] = ()
    staying: tuple[Staying, ...] = ()
    """Who holds what it lacks and is not preempted for it, in groups by the reason."""
    waits_for: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    """Devices that its pods claim, and as what they are counted."""
    clusters: tuple[str, ...] = ()
    """What each other cluster answers in which it is tried or runs."""
    raises: tuple[tuple[Raise, ...], ...] = ()
    """Each of these admits it; the raises within one have to be made together."""
    ends: tuple[str, ...] = ()
    """Workloads, each of which would free enough for it by ending."""
    domains: NearestDomains | None = None
    """Where its pods are placed by topology and find no place: which domain of each level comes nearest, and what is short there."""
    cards: Advice | None = None
    """Which cards would have to be freed, and how."""
    note: str = ""
    """What would not help, although one might think so."""
    fix: str = ""
    """What its owner, or the owner of the queue, can do about it."""
    left_alone: tuple[LeftAlone, ...] = ()
    """What services have failed on, as far as it waits for that."""
    loops: tuple[str, ...] = ()
    """The loops of preemptions that it is part of: who preempts whom, and how often."""
    stops: tuple[StoppedOnce, ...] = ()
