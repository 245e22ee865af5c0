"""Who pays, as people write it in YAML: rules, the first of which that fits says it."""

from pathlib import Path

from events.billing import AccountRule, AccountsSet
from events.event import Millis
from ops.queries.billing.entered_rows import rows_of, terms_of
from ops.queries.billing.period import time
from ops.queries.billing.problems import BillRefused

_WORDS = {
    "account": "account",
    "accountLabel": "account_label",
    "costCenter": "cost_center",
    "costCenterLabel": "cost_center_label",
    "namespace": "namespace",
    "clusterQueue": "cluster_queue",
    "label": "label",
}
"""Words of a rule, as people write them and as they are stored."""
_SAYS = ("account", "accountLabel", "costCenter", "costCenterLabel")


def read_accounts_file(path: Path, *, author: str, reason: str, now: Millis, first: Millis) -> AccountsSet:
    """The rules of a file; from now on, where it does not say from when. Raises `BillRefused`."""
    found = terms_of(path)
    if not isinstance(found, dict) or not {"rules"} <= set(found) <= {"rules", "from"}:
        raise BillRefused(f"{path} has to be a mapping with rules, and with from where they do not begin now")
    rows = rows_of(path, "rules", found["rules"], needed=frozenset(), may=set(_WORDS))
    for place, row in enumerate(rows, 1):
        where = f"{path}: rules {place}"
        if not any(row.get(word) for word in _SAYS):
            raise BillRefused(f"{where} says nobody who pays: give it one of {', '.join(_SAYS)}")
        for one, other in (("account", "accountLabel"), ("costCenter", "costCenterLabel")):
            if row.get(one) and row.get(other):
                raise BillRefused(f"{where} has both {one} and {other}: which of them it is has to be one")
        if row.get("label") and not row["label"].partition("=")[1]:
            raise BillRefused(f"{where}: label {row['label']!r} has to be written as key=value")
    starts = time(str(found["from"]), first) if "from" in found else now
    rules = tuple(AccountRule(**{stored: row.get(word, "") for word, stored in _WORDS.items()}) for row in rows)
    return AccountsSet(starts=starts, rules=rules, author=author, reason=reason)
