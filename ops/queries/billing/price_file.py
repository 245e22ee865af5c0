"""A price list as people write it, in YAML; numbers are taken as they are written, never as floating point."""

from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NoReturn

from events.billing import LineKind, Meter, Price, PriceListSet, Spread
from events.event import Millis
from ops.queries.billing.entered_rows import terms_of
from ops.queries.billing.minor_units import minor_places
from ops.queries.billing.monthly_rows import commitments_of, discounts_of, minimums_of
from ops.queries.billing.period import time
from ops.queries.billing.problems import BillRefused
from ops.queries.billing.window_rows import windows_of
from projections.billing.terms.money import BadAmount, entered_money
from projections.billing.terms.prices import UNUSED

_TOP = frozenset(
    {
        *("name", "currency", "billedIn", "decimals", "from", "charges", "credits", "prices", "windows", "tags"),
        *("discounts", "commitments", "minimums"),
    }
)
_NAMES = {
    "flavor": "flavor",
    "model": "model",
    "tenant": "tenant",
    "priorityClass": "priority_class",
    "resource": "resource",
    "deviceClass": "device_class",
    "window": "window",
    "flavorLabel": "flavor_label",
}
"""Words of a price by which it applies, as people write them and as they are stored."""
_ROW = frozenset({"meter", "price", "spread", *_NAMES})
_WORDS_OF_UNUSED = frozenset({"flavor", "model"})
_WORDS_OF_LENT = frozenset({"flavor"})
_WORDS_OF_DEVICES = frozenset({"deviceClass", "tenant", "priorityClass", "window"})
_CHARGEABLE = (LineKind.USAGE, LineKind.RESERVATION, LineKind.UNRESERVED)


def read_price_file(path: Path, *, author: str, reason: str, now: Millis, first: Millis) -> PriceListSet:
    """The price list of a file; from now on, where it does not say from when. Raises `BillRefused`."""
    found = terms_of(path)
    if not isinstance(found, dict):
        _refuse(path, "it", "has to be a mapping with name, currency and prices")
    _only(path, found, _TOP, "the price list")
    currency = currency_of(path, "currency", str(found.get("currency", "")))
    billed_in = currency_of(path, "billedIn", str(found["billedIn"])) if "billedIn" in found else ""
    decimals = str(found.get("decimals", minor_places(billed_in or currency)))
    if decimals not in {"0", "1", "2", "3", "4"}:
        _refuse(path, f"decimals {decimals!r}", "has to be 0 to 4")
    rows = found.get("prices") or []
    if not isinstance(rows, list) or not rows:
        _refuse(path, "prices", "has to be a list with at least one price")
    prices = tuple(_price(path, place, row) for place, row in enumerate(rows, 1))
    seen: set[tuple[str, ...]] = set()
    for price in prices:
        key = (price.meter, *(getattr(price, name) for name in _NAMES.values()))
        if key in seen:
            _refuse(path, _named(price), "is priced twice")
        seen.add(key)
    starts = time(str(found["from"]), first) if "from" in found else now
    windows = windows_of(path, found.get("windows", []), starts)
    _check_words(path, prices, {one.name for one in windows})
    charges = tuple(_kind(path, text) for text in _list(path, found, "charges", _CHARGEABLE))
    return PriceListSet(
        name=str(found.get("name") or path.stem),
        currency=currency,
        starts=starts,
        windows=windows,
        tags=tuple(_list(path, found, "tags", ())),
        prices=prices,
        decimals=int(decimals),
        billed_in="" if billed_in == currency else billed_in,
        discounts=discounts_of(path, found.get("discounts", [])),
        commitments=commitments_of(path, found.get("commitments", [])),
        minimums=minimums_of(path, found.get("minimums", [])),
        charges=charges,
        credits=tuple(str(text) for text in _list(path, found, "credits", ("Preempted",))),
        author=author,
        reason=reason,
    )


def _named(price: Price) -> str:
    if price.meter is Meter.DEVICE:
        return f"device of {price.device_class or 'all classes'}"
    of_all = "all flavors" if price.resource else "all cards"
    return f"{price.resource or price.meter} of {price.flavor or price.model or of_all}"


def _price(path: Path, place: int, row: Any) -> Price:
    if not isinstance(row, dict):
        _refuse(path, f"price {place}", "has to be a mapping with meter and price")
    _only(path, row, _ROW, f"price {place}")
    meter = _meter(path, place, row)
    text = str(row.get("price", ""))
    try:
        negative = entered_money(text) < 0
    except BadAmount as bad:
        raise BillRefused(f"{path}: price {place}: {bad}") from bad
    if negative:
        _refuse(
            path, f"price {place}: {text}", "has to be zero or more; what is given back is a credit or a correction"
        )
    names = {stored: str(row.get(written, "")) for written, stored in _NAMES.items()}
    return Price(meter=meter, unit_price=text, **names, spread=_spread(path, place, row, meter))


def _spread(path: Path, place: int, row: Mapping[str, Any], meter: Meter) -> Spread:
    """Who pays for what nobody used; only prices of that say so. Raises `BillRefused`."""
    unused = meter in UNUSED
    words = _WORDS_OF_DEVICES if meter is Meter.DEVICE else _WORDS_OF_LENT | {"resource"}
    words = (_WORDS_OF_UNUSED | {"spread", "resource"}) if unused else words
    strange = sorted({*row} - words - {"meter", "price"}) if unused or meter in (Meter.LENT, Meter.DEVICE) else []
    if strange:
        _refuse(
            path,
            f"price {place} of {meter} has {', '.join(strange)}, which",
            f"it can't go by: {_several(words)} it may",
        )
    if not unused:
        if "deviceClass" in row and (meter is not Meter.DEVICE or not row["deviceClass"]):
            _refuse(path, f"price {place}: deviceClass", "is of the meter device alone, and names a DeviceClass")
        if "spread" in row:
            _refuse(path, f"price {place}: spread", "is of idle and stranded alone")
        if meter is Meter.LENT and not row.get("resource"):
            _refuse(path, f"price {place} of lent", "has to name the resource of quota that it is of")
        return Spread.USE
    found = str(row.get("spread", Spread.USE))
    if found not in list(Spread):
        _refuse(path, f"price {place}: spread {found!r}", f"has to be one of {', '.join(Spread)}")
    by_quota = found == Spread.QUOTA
    if by_quota is not bool(row.get("resource")):
        why = (
            "has to name the resource of quota by which it is spread"
            if by_quota
            else "names a resource: only spread: quota does"
        )
        _refuse(path, f"price {place} of {meter}", why)
    return Spread(found)


def _several(words: Set[str]) -> str:
    return ", ".join(sorted(words))


def currency_of(where: object, name: str, text: str) -> str:
    """A currency's code. Raises `BillRefused`."""
    if not (text.isascii() and text.isalpha() and text.isupper() and len(text) == len("EUR")):
        raise BillRefused(f"{where}: {name} {text!r} has to be an ISO 4217 code such as EUR")
    return text


def _check_words(path: Path, prices: Sequence[Price], windows: Set[str]) -> None:
    for place, price in enumerate(prices, 1):
        if price.window and price.window not in windows:
            _refuse(path, f"price {place}: window {price.window!r}", "is not among the list's windows")
        if price.flavor_label and not price.flavor_label.partition("=")[1]:
            _refuse(path, f"price {place}: flavorLabel {price.flavor_label!r}", "has to be written as key=value")


def _meter(path: Path, place: int, row: Mapping[str, Any]) -> Meter:
    """The meter of cards that is named; a price that names a resource alone is of quota, and needs none."""
    named = [meter for meter in Meter if meter is not Meter.QUOTA]
    found = str(row.get("meter", ""))
    if "resource" in row and found not in {*UNUSED, Meter.LENT, Meter.DEVICE}:
        wrong = sorted({"meter", "model"} & set(row))
        if wrong or not str(row["resource"]):
            _refuse(path, f"price {place}", "of a resource has no meter and no model: both are of cards")
        return Meter.QUOTA
    if found not in named:
        _refuse(path, f"price {place}: meter {found!r}", f"has to be one of {', '.join(named)}, or it names a resource")
    return Meter(found)


def _list(path: Path, found: Mapping[str, Any], name: str, otherwise: Sequence[str]) -> Sequence[str]:
    words = found.get(name, otherwise)
    if not isinstance(words, list | tuple) or not all(isinstance(one, str) for one in words):
        _refuse(path, name, "has to be a list of words")
    return words


def _kind(path: Path, text: str) -> LineKind:
    if text not in _CHARGEABLE:
        _refuse(path, f"charges: {text!r}", f"has to be among {', '.join(_CHARGEABLE)}")
    return LineKind(text)


def _only(path: Path, found: Mapping[str, object], known: frozenset[str], what: str) -> None:
    strange = sorted(set(found) - known)
    if strange:
        _refuse(path, f"{what} has {', '.join(strange)}, which", f"is unknown; it may have {', '.join(sorted(known))}")


def _refuse(path: Path, what: str, why: str) -> NoReturn:
    raise BillRefused(f"{path}: {what} {why}")
