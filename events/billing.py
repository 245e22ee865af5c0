"""What operators enter for billing: price lists, who pays, rates of exchange, and corrections of what was billed."""

from enum import StrEnum

from events.event import Event, Millis, Value


class Meter(StrEnum):
    """By what cards and quota are priced; all of them count time (docs/rules/billing.md#meters)."""

    MEMORY = "memory"
    """GiB-hours of card memory."""
    CORES = "cores"
    """GPU-hours by the share of a card's cores."""
    DOMINANT = "dominant"
    """GPU-hours by the largest of the shares of memory, cores and slots."""
    CARD = "card"
    """GPU-hours in which any part of a card is held."""
    EXCLUSIVE = "exclusive"
    """GPU-hours in which nobody else can have a part of the card; where it is priced, no other meter runs then."""
    SLOTS = "slots"
    """Slot-hours."""
    NODE = "node"
    """Node-hours in which one attempt holds every card of a node whole; where it is priced, no other meter runs then."""
    QUOTA = "quota"
    """Hours of a resource that a workload holds of quota, such as core-hours of cpu; the price names the resource."""
    IDLE = "idle"
    """GiB-hours of card memory that was free and could have been given."""
    STRANDED = "stranded"
    """GiB-hours of card memory that was free on cards which nobody could have a part of any more."""
    DEVICE = "device"
    """Hours of a device that a claim holds; the price may name the device class."""
    LENT = "lent"
    """Hours of a resource of quota that one queue had of another; shown in money, and charged to nobody."""


class Spread(StrEnum):
    """Who pays for what nobody used of cards (docs/rules/billing.md#unused)."""

    USE = "use"
    """Whoever held card memory of the same flavor and model, in proportion to how much for how long."""
    QUOTA = "quota"
    """The namespaces of queues with quota of a resource of the flavor, in proportion to nominal quota and time."""
    NONE = "none"
    """Nobody: it is shown in money."""


class LineKind(StrEnum):
    """What a line of a bill is about."""

    USAGE = "usage"
    """Cards from admission until they were given back."""
    RESERVATION = "reservation"
    """Cards set aside before admission."""
    UNRESERVED = "unreserved"
    """Cards that pods hold beyond what the log has set aside for them."""
    ELSEWHERE = "elsewhere"
    """Cards that pods hold instead of those that the log has set aside for them; the ones set aside are charged."""
    CREDIT = "credit"
    """Given back, because the attempt was cut short."""
    CORRECTION = "correction"
    """Entered by a person, in reversal and replacement of another entry or as an amount."""
    ROUNDING = "rounding"
    """The difference between exact lines and a total in whole minor units of the currency."""
    IDLE = "idle"
    """A share of what idle card memory costs."""
    STRANDED = "stranded"
    """A share of what stranded card memory costs."""
    DISCOUNT = "discount"
    """Taken off a month."""
    COMMITMENT = "commitment"
    """What an account pays for each month, used or not."""
    COVERED = "covered"
    """What a commitment has paid for already."""
    MINIMUM = "minimum"
    """What a month lacks to the least that an account pays."""


class Price(Value, frozen=True, kw_only=True):
    """What one unit of a meter costs; of several that apply the most particular one: by tenant, priority class, flavor, model."""

    meter: Meter
    unit_price: str
    """A plain decimal, not negative, at most 10 places behind the point."""
    flavor: str = ""
    model: str = ""
    tenant: str = ""
    """A price agreed with one namespace; the price without a tenant is the list price."""
    priority_class: str = ""
    """Only for workloads whose priority comes from this class."""
    resource: str = ""
    """Of `QUOTA`: the resource, as quota names it."""
    device_class: str = ""
    """Of `DEVICE`: only of devices that were claimed by this class."""
    window: str = ""
    """Only within this window of the price list."""
    flavor_label: str = ""
    """Only for flavors with this node label, written as key=value; as spot instances bear one."""
    spread: Spread = Spread.USE
    """Of `IDLE` and `STRANDED`: who pays; by `QUOTA` it is that of `resource`."""


class Discount(Value, frozen=True, kw_only=True):
    """So much per cent off what a month of an account exceeds an amount by, up to where the next discount begins."""

    name: str
    percent: str
    """A plain decimal, at most 100."""
    above: str = "0"
    account: str = ""
    """Empty for all that have no discount of their own."""


class Commitment(Value, frozen=True, kw_only=True):
    """What an account pays each month, and how much of its charges of that month it has paid for by that."""

    name: str
    account: str
    price: str
    covers: str


class MinimumCharge(Value, frozen=True, kw_only=True):
    """The least that an account pays for a month."""

    amount: str
    account: str = ""
    """Empty for all with any charge in the month that have no minimum of their own."""


class LocalOffset(Value, frozen=True, kw_only=True):
    """How far the clocks of a time zone are ahead of UTC from a moment on."""

    at: Millis
    ahead: Millis


class PriceWindow(Value, frozen=True, kw_only=True):
    """Hours of the day, by the clocks of a time zone, in which other prices are in force (docs/rules/billing.md#windows).

    What the zone's clocks show is recorded, so that no later version of the zone's rules changes what was charged.
    """

    name: str
    zone: str
    """The zone's IANA name."""
    begin: Millis
    """After midnight by the zone's clocks."""
    end: Millis
    """The same; on the next day where it is not later than `begin`."""
    days: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)
    """Days of the week on which it begins; 0 is Monday."""
    offsets: tuple[LocalOffset, ...]
    """In the order of their time; the first one holds before it too, the last one ever after."""


class PriceListSet(Event, frozen=True, kw_only=True, tag="PriceListSet.v1"):
    """From `starts` on these prices are in force, all of them, and no others."""

    name: str
    currency: str
    """The currency's ISO 4217 code."""
    starts: Millis
    prices: tuple[Price, ...]
    decimals: int = 2
    """Places of the currency's minor unit."""
    charges: tuple[LineKind, ...] = (LineKind.USAGE, LineKind.RESERVATION, LineKind.UNRESERVED)
    """What is charged at all."""
    credits: tuple[str, ...] = ("Preempted",)
    """Reasons of eviction after which all that the attempt had cost is given back."""
    windows: tuple[PriceWindow, ...] = ()
    tags: tuple[str, ...] = ()
    """Keys of labels of workloads that are told as tags of their lines."""
    billed_in: str = ""
    """The currency of the bill where it is another one than that of the prices: by the rates on record."""
    discounts: tuple[Discount, ...] = ()
    commitments: tuple[Commitment, ...] = ()
    minimums: tuple[MinimumCharge, ...] = ()
    author: str = ""
    reason: str = ""


class ExchangeRateSet(Event, frozen=True, kw_only=True, tag="ExchangeRateSet.v1"):
    """From `starts` on so much of one currency is billed for one unit of another in which prices are."""

    currency: str
    """That of the prices, by its ISO 4217 code."""
    billed_in: str
    """That of the bill."""
    rate: str
    """A plain decimal above zero, at most 10 places behind the point."""
    starts: Millis
    source: str
    """Who publishes it, such as the reference rates of a central bank."""
    author: str = ""
    reason: str = ""


class AccountRule(Value, frozen=True, kw_only=True):
    """Who pays for what fits all that it names: an account, and a cost centre of it."""

    account: str = ""
    account_label: str = ""
    """The account is the value of this label of the workload; without one the rule does not fit."""
    cost_center: str = ""
    cost_center_label: str = ""
    """The same of the cost centre."""
    namespace: str = ""
    cluster_queue: str = ""
    label: str = ""
    """Of the workload, written as key=value."""


class AccountsSet(Event, frozen=True, kw_only=True, tag="AccountsSet.v1"):
    """From `starts` on these rules say who pays, all of them, and no others: the first that fits; else the namespace itself."""

    starts: Millis
    rules: tuple[AccountRule, ...]
    author: str = ""
    reason: str = ""


class CorrectionEntered(Event, frozen=True, kw_only=True, tag="CorrectionEntered.v1"):
    """A person corrects an entry of the ledger, or enters an amount; nothing that was entered before is changed.

    An entry is reversed in full; where `since` and `until` are given, it is entered again for that time.
    """

    tenant: str
    entry: str = ""
    """The id of the entry; empty where only an amount is entered."""
    since: Millis | None = None
    until: Millis | None = None
    amount: str = ""
    """A plain decimal in the currency of the price list in force, negative in the tenant's favour."""
    about: Millis | None = None
    """A time in the period that an amount is about."""
    reason: str
    author: str
    approved_by: tuple[str, ...] = ()
    allow_negative: bool = False
    """Whether it may give back more than is charged by then: an entry that a credit covers already, or a larger amount."""


class Approval(Value, frozen=True, kw_only=True):
    """One person's signature under the statement of a month."""

    name: str
    key: str
    """The fingerprint of the key."""
    signature: str
    """Ed25519 over the statement, in hex."""


class MonthClosed(Event, frozen=True, kw_only=True, tag="MonthClosed.v1"):
    """A month is invoiced: its bill is what the log up to these places comes to, for ever.

    What is learnt of it later is in the bill of the month after it, as corrections.
    """

    month: str
    """As 2026-11, in UTC."""
    number: int
    """Of the invoice; every month that is closed has the next one."""
    upto: dict[str, int]
    """The last sequence of each stream that the bill rests on."""
    rows: int
    """Rows of the FOCUS data set."""
    totals: dict[str, str]
    """Plain decimals by currency."""
    sha256: str
    """Of the FOCUS data set as CSV, with its invoice ids."""
    form: int = 1
    """Which columns that has, and how a local queue is named: data sets of form 2 have more, and the queue that the decision knew."""
    reason: str = ""
    author: str
    approvals: tuple[Approval, ...] = ()
