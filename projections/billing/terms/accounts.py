"""Who pays: accounts and their cost centres, by namespace, queue or label, as they were mapped at the time.

Rule: docs/rules/billing.md#accounts
"""

import msgspec

from events.billing import AccountRule, AccountsSet
from events.event import Millis
from projections.billing.entries.entry import Holder
from projections.billing.terms.in_force import InForce
from projections.log_position import LogPosition


class Payer(msgspec.Struct, frozen=True):
    """Who pays for a line."""

    account: str
    cost_center: str = ""
    mapped: bool = False
    """Whether a rule says so; without one the account is the namespace."""

    @property
    def tenant(self) -> str:
        """The namespace, where it is the account."""
        return "" if self.mapped else self.account


class AccountList(msgspec.Struct, frozen=True, kw_only=True):
    """Rules, from when they really count, and where they stand on the log."""

    event: AccountsSet
    starts: Millis
    place: str
    known: dict[tuple[object, ...], Payer] = {}
    """Payers that were looked up already, by namespace, queue and labels."""


class AccountBook:
    """All rules about who pays, and from when they count."""

    def __init__(self) -> None:
        self.lists = InForce[AccountList]()

    def set(self, event: AccountsSet, position: LogPosition) -> None:
        """Rules are entered: they count from their time on, or from now where others are in force by then."""
        starts = self.lists.start_of(event.starts, position.at)
        place = f"{position.partition}/{position.sequence}"
        self.lists.put(AccountList(event=event, starts=starts, place=place, known={}))

    def names(self) -> frozenset[str]:
        """Accounts that rules name, and those that were found by a label so far."""
        named = frozenset(rule.account for one in self.lists.all for rule in one.event.rules if rule.account)
        return named | {payer.account for one in self.lists.all for payer in one.known.values()}

    def payer_of(self, holder: Holder, at: Millis) -> Payer:
        """Who pays for what somebody holds at a time."""
        rules = self.lists.at(at)
        if rules is None:
            return Payer(holder.tenant)
        key = (holder.tenant, holder.cluster_queue, holder.labels)
        found = rules.known.get(key)
        if found is None:
            found = rules.known[key] = _payer(rules.event, holder)
        return found


def _payer(event: AccountsSet, holder: Holder) -> Payer:
    labels = dict(holder.labels)
    for rule in event.rules:
        account = rule.account or labels.get(rule.account_label, "")
        cost_center = rule.cost_center or labels.get(rule.cost_center_label, "")
        if _fits(rule, holder, labels) and (account or not rule.account_label):
            return Payer(account or holder.tenant, cost_center, mapped=bool(account))
    return Payer(holder.tenant)


def _fits(rule: AccountRule, holder: Holder, labels: dict[str, str]) -> bool:
    key, _, value = rule.label.partition("=")
    return (
        rule.namespace in {"", holder.tenant}
        and rule.cluster_queue in {"", holder.cluster_queue}
        and (not rule.label or labels.get(key) == value)
        and (not rule.cost_center_label or bool(rule.cost_center) or rule.cost_center_label in labels)
    )
