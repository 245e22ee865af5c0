"""Budgets: what a queue or namespace may hold or spend in a period, what becomes of it at the end, and what was reached of it."""

from enum import StrEnum

from events.event import Event, Millis, Value

MONEY_PARTS = 1_000_000
"""Money in budgets is counted in millionths of its currency."""
PRICE_PARTS = 10**10
"""Prices are whole numbers of ten-thousand-millionths of their currency."""


class BudgetPeriod(StrEnum):
    """How long a budget lasts; days, weeks (from Monday) and months begin in UTC."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class AtTheEnd(StrEnum):
    """What becomes of workloads that come when a budget is used up."""

    HOLD = "Hold"
    """They wait for its next period."""
    WARN = "Warn"
    """They get in, and it is told."""
    ASK = "Ask"
    """They wait until somebody approves of more."""


class RunningAtTheEnd(StrEnum):
    """What becomes of workloads that run when a budget is used up."""

    CONTINUE = "Continue"
    STOP = "Stop"


class BudgetLimits(Value, frozen=True, kw_only=True):
    """Limits by resource in unit-hours, and by currency in money."""

    limits: dict[str, int]
    """In units of the quota, of which each is `scale` of these; money in millionths, whatever the scale."""
    scale: int = 1
    """1, or a power of ten where a limit is a fraction."""


class MoreApproved(Value, frozen=True, kw_only=True):
    """What somebody has approved of on top of a budget for one period of it."""

    began: Millis
    """When the period began."""
    more: BudgetLimits
    user: str = ""
    """Whose share of it is meant; empty for the whole."""
    by: str


class Budget(Value, frozen=True, kw_only=True):
    """So many unit-hours of held quota per resource and period, and so much money; units are those of the quota."""

    period: BudgetPeriod
    limits: dict[str, int]
    scale: int = 1
    """As in `BudgetLimits`."""
    at_end: AtTheEnd = AtTheEnd.HOLD
    running: RunningAtTheEnd = RunningAtTheEnd.CONTINUE
    thresholds: tuple[int, ...] = (80, 100)
    """Per cent of the budget, at which it is told that so much is used."""
    carry_over: int = 0
    """So many per cent of the budget, at most, that a period has left over are added to the next one."""
    each_user: BudgetLimits | None = None
    """What each user may have of it."""
    approved: tuple[MoreApproved, ...] = ()


class BudgetPrice(Value, frozen=True, kw_only=True):
    """What a unit of a resource costs in an hour: a core, a GiB of memory or storage, of all else a unit of the quota."""

    resource: str
    flavor: str = ""
    """The only flavor that it is the price of; empty for all that have none of their own."""
    currency: str
    price: int
    """In ten-thousand-millionths of the currency."""


class BudgetThresholdReached(Event, frozen=True, kw_only=True, tag="BudgetThresholdReached.v1"):
    """So much of a budget is used in the period that goes on. What is used and allowed is in units (money in millionths) x milliseconds
    of an hour: divided by 3,600,000 it is what budgets are written in."""

    budget: str
    """`ClusterQueue/name` or `Namespace/name`, with `/users/name` behind it for the share of a user."""
    resource: str
    """The resource, or the currency."""
    percent: int
    used: int
    allowed: int
    began: Millis
    """When the period began."""


class BudgetRenewed(Event, frozen=True, kw_only=True, tag="BudgetRenewed.v1"):
    """A new period of a budget has begun, after one in which it was told how much of it was used."""

    budget: str
    """As in `BudgetThresholdReached`."""
    began: Millis
    carried: dict[str, int] = {}
    """What the periods before have left over, by resource or currency, in the same units."""


class BudgetUseTold(Event, frozen=True, kw_only=True, tag="BudgetUseTold.v1"):
    """What a partition itself has counted of a budget that it shares with others, told when that is not what they reckon it to be.
    Between two of these its use grows by what is held."""

    budget: str
    """As in `BudgetThresholdReached`."""
    at: Millis
    """The time that it is of."""
    began: Millis
    """When the period began in which it was used."""
    amounts: dict[str, int] = {}
    """By resource or currency, in the units of `BudgetThresholdReached`; nothing of what is left out."""
    running: dict[str, int] = {}
    """What is held, which is by how much that grows in a millisecond."""


class BudgetUsePassedOn(Event, frozen=True, kw_only=True, tag="BudgetUsePassedOn.v1"):
    """The others hear what a partition has told of a budget (`BudgetUseTold`): they read the partition of cards, and not one another."""

    budget: str
    partition: str
    """Which partition has counted that."""
    decided: int
    """By which of its commits it has told so."""
    at: Millis
    began: Millis
    amounts: dict[str, int] = {}
    running: dict[str, int] = {}
