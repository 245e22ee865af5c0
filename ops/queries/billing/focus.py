"""A bill as a FOCUS 1.2 data set: a row per charge, each with the place on the log that it comes from."""

from collections.abc import Iterator, Mapping
from functools import cache
from operator import itemgetter

import msgspec

from events.billing import Commitment, LineKind, Meter
from events.event import Millis
from events.timestamp import format_timestamp
from ops.queries.billing.focus_columns import ALL_NAMES, FORM, BillPart, names_with
from projections.billing.entries.entry import AnyEntry, CardEntry, DeviceEntry, QuotaEntry, Window
from projections.billing.ledger import Ledger
from projections.billing.lines.amounts import Amount
from projections.billing.lines.charge import Charge, Piece, flavor_of
from projections.billing.lines.charged_lines import EVERYBODY, BilledTo, charged_lines
from projections.billing.terms.accounts import Payer
from projections.billing.terms.money import PLACES, decimal, quotient, times
from projections.billing.terms.resource_unit import unit_of
from projections.calendar import month_after, month_of

QUANTITY_PLACES = 18
_UNITS = {
    Meter.MEMORY: ("GiB-Hours", "GPU memory"),
    Meter.CORES: ("GPU-Hours", "GPU cores"),
    Meter.DOMINANT: ("GPU-Hours", "GPU dominant share"),
    Meter.CARD: ("GPU-Hours", "GPU held"),
    Meter.EXCLUSIVE: ("GPU-Hours", "GPU exclusive"),
    Meter.SLOTS: ("Slot-Hours", "GPU slots"),
    Meter.NODE: ("Node-Hours", "Whole node"),
}
_DETAILS = {
    Meter.MEMORY: '{"x_GpuMemoryGiB":1}',
    Meter.CORES: '{"GpuCount":1}',
    Meter.DOMINANT: '{"GpuCount":1}',
    Meter.CARD: '{"GpuCount":1}',
    Meter.EXCLUSIVE: '{"GpuCount":1}',
    Meter.SLOTS: '{"x_GpuSlots":1}',
    Meter.NODE: '{"x_Nodes":1}',
}
"""What one unit of the price stands for. CoreCount is of CPUs to FOCUS, so cores of cards have a column of ours."""
_SECOND: Millis = 1000
_REGION, _ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"

Row = tuple[str, ...]


class Seller(msgspec.Struct, frozen=True):
    """In whose name bills are made."""

    provider: str = "kuelog"
    publisher: str = "kuelog"
    issuer: str = "kuelog"


def names_of(ledger: Ledger) -> tuple[str, ...]:
    """The columns of a data set: of those that only some bills need, those that what was entered makes this one need."""
    return names_with(parts_of(ledger))


def parts_of(ledger: Ledger) -> frozenset[BillPart]:
    """What a bill has, by what was entered, that only some columns are for."""
    lists = ledger.prices.lists
    return frozenset(
        part
        for part, wanted in (
            (BillPart.QUOTA, any(one.of_quota for one in lists)),
            (BillPart.DEVICES, any(one.of_devices for one in lists)),
            (BillPart.EXCHANGE, any(one.event.billed_in for one in lists)),
            (BillPart.ACCOUNTS, bool(ledger.prices.accounts.lists.all)),
            (BillPart.COMMITMENTS, any(one.event.commitments for one in lists)),
            (BillPart.REQUESTS, ledger.closed is None or ledger.closed.form >= FORM),
        )
        if wanted
    )


def rows(
    ledger: Ledger,
    window: Window,
    of: BilledTo = EVERYBODY,
    seller: Seller | None = None,
    *,
    names: tuple[str, ...] = (),
    cluster: str = "",
) -> Iterator[Row]:
    """All rows, in the order of the log; texts by column, empty for null. What has no price has no row.

    `names` and `cluster` are for a data set of several clusters: its columns, and which of them this ledger is of.
    """
    common, in_columns = {**_common(seller or Seller()), "x_Cluster": cluster}, itemgetter(*(names or names_of(ledger)))
    for line in charged_lines(ledger, window, of):
        if isinstance(line, Amount):
            yield in_columns({**_EMPTY, **common, **_of_amount(line, ledger.invoice)})
        elif line.charges:
            piece = line.piece
            bearing = {**common, **_invoice(ledger.invoice, piece.payer), **_of_piece(piece), **_place(ledger, piece)}
            for charge in line.charges:
                # The columns of a charge are the same for each, so that one charge leaves nothing to the next.
                bearing.update(_of_charge(piece, charge))
                yield in_columns(_EMPTY | bearing)


def _place(ledger: Ledger, piece: Piece) -> dict[str, str]:
    """Where it was given, as the labels of its flavor say."""
    flavor, labels = flavor_of(piece.entry), ledger.cards.flavor_labels
    region = labels.value(flavor, _REGION, piece.since)
    return {
        "AvailabilityZone": labels.value(flavor, _ZONE, piece.since),
        "RegionId": region,
        "RegionName": region,
    }


def _invoice(invoice: str, payer: Payer) -> dict[str, str]:
    return {"InvoiceId": f"{invoice}-{payer.account}"} if invoice else {}


_EMPTY = dict.fromkeys(ALL_NAMES, "")


def _common(seller: Seller) -> dict[str, str]:
    return {
        "ProviderName": seller.provider,
        "PublisherName": seller.publisher,
        "InvoiceIssuerName": seller.issuer,
        "ServiceCategory": "AI and Machine Learning",
        "ServiceSubcategory": "Machine Learning",
        "ServiceName": "GPU Queue",
    }


def _account(tenant: str, payer: Payer, booked: Millis) -> Mapping[str, str]:
    return _account_of_month(tenant, payer, month_of(booked))


@cache
def _account_of_month(tenant: str, payer: Payer, month: Millis) -> Mapping[str, str]:
    space = {"SubAccountId": tenant, "SubAccountName": tenant, "SubAccountType": "Namespace"} if tenant else {}
    return {
        "BillingAccountId": payer.account,
        "BillingAccountName": payer.account,
        "BillingAccountType": "Account" if payer.mapped else "Tenant",
        **space,
        "BillingPeriodStart": format_timestamp(month),
        "BillingPeriodEnd": format_timestamp(month_after(month)),
        "x_CostCenter": payer.cost_center,
    }


def _of_piece(piece: Piece) -> dict[str, str]:
    holder = piece.entry.holder
    tags = {"kuelog/queue": holder.cluster_queue, "kuelog/workload": holder.workload, "kuelog/job": holder.job}
    wanted = piece.prices.event.tags if piece.prices is not None else ()
    tags |= {key: value for key, value in holder.labels if key in wanted}
    corrects = piece.kind in {LineKind.CORRECTION, LineKind.CREDIT}
    return {
        **_account(holder.tenant, piece.payer, piece.booked),
        # A period is given in whole seconds: outwards, so that none is empty; the exact one stands beside it.
        "ChargePeriodStart": format_timestamp(piece.since),
        "ChargePeriodEnd": format_timestamp(-(-piece.until // _SECOND) * _SECOND),
        "Tags": _json({key: value for key, value in tags.items() if value}),
        "x_AllocationId": f"{piece.entry.id}/{piece.since}",
        "x_Attempt": str(holder.attempt),
        "x_ClusterQueue": holder.cluster_queue,
        "x_CorrectsEntryId": piece.entry.id if corrects else "",
        "x_EntryId": piece.entry.id,
        "x_IntervalStartMs": str(piece.since),
        "x_IntervalEndMs": str(piece.until),
        "x_LineKind": piece.kind,
        "x_LocalQueue": holder.local_queue,
        "x_LogPlace": piece.place or f"{piece.entry.began.partition}/{piece.entry.began.sequence}",
        **_of_entry(piece.entry),
    }


def _of_entry(entry: AnyEntry) -> dict[str, str]:
    match entry:
        case CardEntry():
            return _of_card(entry)
        case QuotaEntry():
            return _of_quota(entry)
        case DeviceEntry():
            return _of_devices(entry)


def _of_devices(entry: DeviceEntry) -> dict[str, str]:
    return {
        "ResourceId": entry.claim,
        "ResourceName": entry.claim,
        "ResourceType": "Claimed devices",
        "ServiceName": "Job Queue",
        "x_Claim": entry.claim,
        "x_DeviceClass": entry.device_class,
        "x_Devices": str(entry.count),
    }


def _of_card(entry: CardEntry) -> dict[str, str]:
    slice_, asked = entry.slice, entry.slice.asked
    return {
        "ResourceId": slice_.card.uuid,
        "ResourceName": f"{slice_.node}/{slice_.card.index}",
        "ResourceType": "GPU" if slice_.exclusive else "GPU slice",
        "x_CardCores": str(slice_.card.cores),
        "x_CoresPct": str(slice_.cores),
        "x_CoresPctRequested": str(asked[1]) if asked is not None else "",
        "x_DeviceUuid": slice_.card.uuid,
        "x_Exclusive": "true" if slice_.exclusive else "false",
        "x_Flavor": slice_.flavor,
        "x_MemMiB": str(slice_.memory),
        "x_MemMiBRequested": str(asked[0]) if asked is not None else "",
        "x_MigProfile": slice_.profile,
        "x_Model": slice_.card.model,
        "x_Node": slice_.node,
    }


def _of_quota(entry: QuotaEntry) -> dict[str, str]:
    return {
        "ServiceCategory": "Compute",
        "ServiceSubcategory": "Containers",
        "ServiceName": "Job Queue",
        "x_Amount": str(entry.amount),
        "x_Flavor": entry.flavor,
        "x_Resource": entry.resource,
    }


_QUOTA_DETAILS = {
    "cpu": '{"CoreCount":1}',
    "memory": '{"MemorySize":1}',
    "ephemeral-storage": '{"DiskSpace":1}',
    "storage": '{"DiskSpace":1}',
}


def _measured(entry: AnyEntry, meter: Meter) -> tuple[str, str, str, str]:
    """Unit, name and properties of what was metered, and what it was metered of."""
    if isinstance(entry, QuotaEntry):
        details = _QUOTA_DETAILS.get(entry.resource, '{"x_Units":1}')
        return unit_of(entry.resource).name, entry.resource, details, f"flavor {entry.flavor}"
    if isinstance(entry, DeviceEntry):
        return "Device-Hours", "claimed device", '{"x_Devices":1}', f"class {entry.device_class}"
    return (*_UNITS[meter], _DETAILS[meter], entry.slice.card.model)


def _of_charge(piece: Piece, charge: Charge) -> dict[str, str]:
    rate, prices = charge.rate, piece.prices
    unit, meter, details, of_what = _measured(piece.entry, rate.meter)
    list_cost, cost = decimal(charge.list_cost), decimal(charge.cost)
    found = {
        "BilledCost": cost,
        "EffectiveCost": cost,
        "ContractedCost": cost,
        "ListCost": list_cost,
        "BillingCurrency": prices.currency if prices is not None else "",
        **_in_currency_of_prices(piece, charge),
        "ChargeDescription": f"{meter} of {of_what}, {piece.entry.holder.job}, {piece.kind}",
        "ChargeFrequency": "Usage-Based",
    }
    late = month_of(piece.since) < month_of(piece.booked)
    if piece.kind is LineKind.CREDIT:
        return {**found, "ChargeCategory": "Credit", "ChargeFrequency": "One-Time"}
    if piece.sign < 0 and not late:
        # Within the period that is still open a reversal is no correction to FOCUS, and usage can't be negative.
        return {**found, "ChargeCategory": "Adjustment", "ChargeFrequency": "One-Time"}
    volume = quotient(charge.numerator, charge.denominator, QUANTITY_PLACES)
    place = prices.place if prices is not None else ""
    reserved = piece.entry.kind is LineKind.RESERVATION
    attempt = piece.entry.holder.attempt
    if attempt:
        found["CapacityReservationId"] = f"{piece.entry.holder.workload}@{attempt}"
        found["CapacityReservationStatus"] = "Unused" if reserved else "Used"
    return {
        **found,
        "ChargeCategory": "Usage",
        "ChargeClass": "Correction" if late else "",
        "ConsumedQuantity": volume,
        "ConsumedUnit": unit,
        "PricingQuantity": volume,
        "PricingUnit": unit,
        "PricingCategory": "Standard",
        "ListUnitPrice": _billed(rate.list_price, piece),
        "ContractedUnitPrice": _billed(rate.contracted, piece),
        "SkuId": rate.sku,
        "SkuMeter": meter,
        "SkuPriceId": f"{place}/{rate.sku}",
        "SkuPriceDetails": details,
    }


def _billed(price: int, piece: Piece) -> str:
    """A unit price in the currency of the bill, exactly."""
    return decimal(price * (piece.terms.exchange or 0), 2 * PLACES)


def _in_currency_of_prices(piece: Piece, charge: Charge) -> dict[str, str]:
    """What the prices themselves come to, where the bill is in another currency."""
    prices, rate = piece.prices, charge.rate
    if prices is None or not prices.event.billed_in:
        return {}
    return {
        "PricingCurrency": prices.event.currency,
        "PricingCurrencyListUnitPrice": decimal(rate.list_price),
        "PricingCurrencyContractedUnitPrice": decimal(rate.contracted),
        "PricingCurrencyEffectiveCost": decimal(times(rate.contracted, charge.numerator, charge.denominator)),
    }


_CATEGORIES = {LineKind.COMMITMENT: ("Purchase", "Recurring"), LineKind.COVERED: ("Credit", "One-Time")}
"""FOCUS category and frequency of amounts that are no mere adjustments."""


def _of_amount(amount: Amount, invoice: str) -> dict[str, str]:
    month = month_of(amount.about)
    cost = decimal(amount.cost)
    category, frequency = _CATEGORIES.get(amount.kind, ("Adjustment", "One-Time"))
    return {
        **_account(amount.tenant, amount.payer, amount.booked),
        **_invoice(invoice, amount.payer),
        **(_of_commitment(amount, amount.commitment) if amount.commitment is not None else {}),
        "BilledCost": cost,
        "EffectiveCost": cost,
        "ContractedCost": cost,
        "ListCost": cost,
        "BillingCurrency": amount.currency,
        "ChargeCategory": category,
        "ChargeClass": "Correction" if month < month_of(amount.booked) else "",
        "ChargeDescription": amount.text,
        "ChargeFrequency": frequency,
        "ChargePeriodStart": format_timestamp(month),
        "ChargePeriodEnd": format_timestamp(month_after(month)),
        "x_LineKind": amount.kind,
        "x_LogPlace": amount.place,
    }


def _of_commitment(amount: Amount, commitment: Commitment) -> dict[str, str]:
    sku = f"commitment/{commitment.account}/{commitment.name}"
    found = {
        "CommitmentDiscountCategory": "Spend",
        "CommitmentDiscountId": f"{commitment.account}/{commitment.name}",
        "CommitmentDiscountName": commitment.name,
        "CommitmentDiscountType": "Monthly",
    }
    if amount.kind is not LineKind.COMMITMENT:
        return found
    return {
        **found,
        "CommitmentDiscountQuantity": commitment.covers,
        "CommitmentDiscountUnit": amount.currency,
        "ListUnitPrice": commitment.price,
        "ContractedUnitPrice": commitment.price,
        "PricingCategory": "Committed",
        "PricingQuantity": "1",
        "PricingUnit": "Months",
        "SkuId": sku,
        "SkuPriceId": f"{amount.place}/{sku}",
        "SkuPriceDetails": '{"x_Months":1}',
    }


def _json(value: Mapping[str, object]) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()
