"""The columns of FOCUS 1.2 that a bill fills, with their types and rules, and the rules that hold between them.

A month that was closed has the columns of the form in which that was done, so that it keeps its bytes.
"""

import re
from collections.abc import Collection, Mapping
from enum import Enum

import msgspec

FOCUS_VERSION = "1.2"
FORM = 2
"""That of data sets which are made now: with what was requested, and where it was given."""


class ColumnType(Enum):
    """Types of columns."""

    STRING = "String"
    DECIMAL = "Decimal"
    TIME = "Date/Time"
    JSON = "JSON"
    INTEGER = "Integer"
    """Only in columns of our own."""


class FocusColumn(msgspec.Struct, frozen=True):
    """One column: its name, its type, whether it must be in every data set, whether it may be null, and its values."""

    name: str
    kind: ColumnType
    mandatory: bool
    nullable: bool
    values: frozenset[str] = frozenset()


def _column(name: str, kind: ColumnType, rule: str, *values: str) -> FocusColumn:
    return FocusColumn(name, kind, "M" in rule, "0" in rule, frozenset(values))


_S, _D, _T, _J, _I = ColumnType.STRING, ColumnType.DECIMAL, ColumnType.TIME, ColumnType.JSON, ColumnType.INTEGER

COLUMNS: tuple[FocusColumn, ...] = (
    _column("BilledCost", _D, "M"),
    _column("BillingAccountId", _S, "M"),
    _column("BillingAccountName", _S, "M0"),
    _column("BillingAccountType", _S, ""),
    _column("BillingCurrency", _S, "M"),
    _column("BillingPeriodEnd", _T, "M"),
    _column("BillingPeriodStart", _T, "M"),
    _column("CapacityReservationId", _S, "0"),
    _column("CapacityReservationStatus", _S, "0", "Used", "Unused"),
    _column("ChargeCategory", _S, "M", "Usage", "Purchase", "Tax", "Credit", "Adjustment"),
    _column("ChargeClass", _S, "M0", "Correction"),
    _column("ChargeDescription", _S, "M0"),
    _column("ChargeFrequency", _S, "", "One-Time", "Recurring", "Usage-Based"),
    _column("ChargePeriodEnd", _T, "M"),
    _column("ChargePeriodStart", _T, "M"),
    _column("ConsumedQuantity", _D, "0"),
    _column("ConsumedUnit", _S, "0"),
    _column("ContractedCost", _D, "M"),
    _column("ContractedUnitPrice", _D, "0"),
    _column("EffectiveCost", _D, "M"),
    _column("InvoiceId", _S, "0"),
    _column("InvoiceIssuerName", _S, "M"),
    _column("ListCost", _D, "M"),
    _column("ListUnitPrice", _D, "0"),
    _column("PricingCategory", _S, "0", "Standard", "Dynamic", "Committed", "Other"),
    _column("PricingQuantity", _D, "M0"),
    _column("PricingUnit", _S, "M0"),
    _column("ProviderName", _S, "M"),
    _column("PublisherName", _S, "M"),
    _column("ResourceId", _S, "0"),
    _column("ResourceName", _S, "0"),
    _column("ResourceType", _S, "0"),
    _column("ServiceCategory", _S, "M", "AI and Machine Learning", "Compute"),
    _column("ServiceName", _S, "M"),
    _column("ServiceSubcategory", _S, "", "Machine Learning", "Containers"),
    _column("SkuId", _S, "0"),
    _column("SkuMeter", _S, "0"),
    _column("SkuPriceDetails", _J, "0"),
    _column("SkuPriceId", _S, "0"),
    _column("SubAccountId", _S, "0"),
    _column("SubAccountName", _S, "0"),
    _column("SubAccountType", _S, "0"),
    _column("Tags", _J, "0"),
    _column("x_AllocationId", _S, "0"),
    _column("x_Attempt", _I, "0"),
    _column("x_CardCores", _I, "0"),
    _column("x_ClusterQueue", _S, "0"),
    _column("x_CorrectsEntryId", _S, "0"),
    _column("x_CoresPct", _I, "0"),
    _column("x_DeviceUuid", _S, "0"),
    _column("x_EntryId", _S, "0"),
    _column("x_Exclusive", _S, "0", "true", "false"),
    _column("x_Flavor", _S, "0"),
    _column("x_IntervalEndMs", _I, "0"),
    _column("x_IntervalStartMs", _I, "0"),
    _column("x_LineKind", _S, ""),
    _column("x_LocalQueue", _S, "0"),
    _column("x_LogPlace", _S, "0"),
    _column("x_MemMiB", _I, "0"),
    _column("x_Model", _S, "0"),
    _column("x_Node", _S, "0"),
)


class BillPart(Enum):
    """What a bill may have besides cards that only some columns are for."""

    QUOTA = "quota"
    DEVICES = "devices"
    EXCHANGE = "exchange"
    ACCOUNTS = "accounts"
    CLUSTERS = "clusters"
    COMMITMENTS = "commitments"
    REQUESTS = "requests"
    """Not of data sets of form 1, those of months that were closed before there was another."""


OF_SOME: Mapping[BillPart, tuple[FocusColumn, ...]] = {
    BillPart.QUOTA: (_column("x_Amount", _I, "0"), _column("x_Resource", _S, "0")),
    BillPart.DEVICES: (
        _column("x_Claim", _S, "0"),
        _column("x_DeviceClass", _S, "0"),
        _column("x_Devices", _I, "0"),
    ),
    BillPart.EXCHANGE: (
        _column("PricingCurrency", _S, "0"),
        _column("PricingCurrencyContractedUnitPrice", _D, "0"),
        _column("PricingCurrencyEffectiveCost", _D, "0"),
        _column("PricingCurrencyListUnitPrice", _D, "0"),
    ),
    BillPart.ACCOUNTS: (_column("x_CostCenter", _S, "0"),),
    BillPart.CLUSTERS: (_column("x_Cluster", _S, "0"),),
    BillPart.COMMITMENTS: (
        _column("CommitmentDiscountCategory", _S, "0", "Spend", "Usage"),
        _column("CommitmentDiscountId", _S, "0"),
        _column("CommitmentDiscountName", _S, "0"),
        _column("CommitmentDiscountQuantity", _D, "0"),
        _column("CommitmentDiscountType", _S, "0"),
        _column("CommitmentDiscountUnit", _S, "0"),
    ),
    BillPart.REQUESTS: (
        _column("AvailabilityZone", _S, "0"),
        _column("RegionId", _S, "0"),
        _column("RegionName", _S, "0"),
        _column("x_CoresPctRequested", _I, "0"),
        _column("x_MemMiBRequested", _I, "0"),
        _column("x_MigProfile", _S, "0"),
    ),
}
"""Columns that a data set has where what was entered needs them, so that months closed before keep their bytes."""
ALL_COLUMNS: tuple[FocusColumn, ...] = (*COLUMNS, *(column for some in OF_SOME.values() for column in some))

_FIRST_NAMES: tuple[str, ...] = tuple(column.name for column in COLUMNS)
ALL_NAMES: tuple[str, ...] = tuple(sorted(column.name for column in ALL_COLUMNS))
MANDATORY: tuple[str, ...] = tuple(column.name for column in COLUMNS if column.mandatory)

_FORMS = {
    ColumnType.DECIMAL: re.compile(r"^-?\d+(\.\d+)?$"),
    ColumnType.TIME: re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"),
    ColumnType.INTEGER: re.compile(r"^-?\d+$"),
}
_CURRENCY = re.compile(r"^[A-Z]{3}$")
_UNIT = re.compile(r"^([A-Z][A-Za-z-]*-)?(Hours|Days|Months)$")


def names_with(parts: Collection[BillPart]) -> tuple[str, ...]:
    """The columns of a bill with these parts: those that every bill has always had, and theirs."""
    more = [column.name for part in parts for column in OF_SOME[part]]
    return tuple(sorted((*_FIRST_NAMES, *more))) if more else _FIRST_NAMES


NAMES = names_with((BillPart.REQUESTS,))
"""The columns of a bill of cards alone, as it is made now."""


def broken_rules(row: Mapping[str, str]) -> list[str]:
    """What is wrong with a row, by the rules of the specification; an empty text is null."""
    found = [problem for column in ALL_COLUMNS for problem in _column_rules(column, row.get(column.name, ""))]
    if not _CURRENCY.match(row["BillingCurrency"]):
        found.append("BillingCurrency is no ISO 4217 code")
    found.extend(_time_rules(row))
    found.extend(_quantity_rules(row))
    if row.get("CommitmentDiscountQuantity") and row["ChargeCategory"] not in {"Usage", "Purchase"}:
        found.append("CommitmentDiscountQuantity must be null for what is neither usage nor a purchase")
    named = (("CommitmentDiscountId", "CommitmentDiscountCategory"), ("CommitmentDiscountId", "CommitmentDiscountType"))
    for one, other in (
        *(pair for pair in named if pair[0] in row),
        ("CapacityReservationId", "CapacityReservationStatus"),
        ("SubAccountId", "SubAccountType"),
        ("ConsumedQuantity", "ConsumedUnit"),
        ("PricingQuantity", "PricingUnit"),
        ("ResourceId", "ResourceType"),
        *((("RegionId", "RegionName"),) if "RegionId" in row else ()),
    ):
        if bool(row[one]) != bool(row[other]):
            found.append(f"{one} and {other} go together")
    return found


def _column_rules(column: FocusColumn, text: str) -> list[str]:
    if not text:
        return [] if column.nullable else [f"{column.name} must not be null"]
    form = _FORMS.get(column.kind)
    if form is not None and not form.match(text):
        return [f"{column.name} is no {column.kind.value}: {text}"]
    if column.values and text not in column.values:
        return [f"{column.name} may not be {text}"]
    if column.kind is ColumnType.JSON and not isinstance(msgspec.json.decode(text), dict):
        return [f"{column.name} has to be an object"]
    return []


def _time_rules(row: Mapping[str, str]) -> list[str]:
    return [
        f"{name}End is not after {name}Start"
        for name in ("BillingPeriod", "ChargePeriod")
        if row[f"{name}End"] <= row[f"{name}Start"]
    ]


def _quantity_rules(row: Mapping[str, str]) -> list[str]:
    """Usage and purchases that are no corrections say how much, of what and at which price; only usage has consumed anything."""
    found: list[str] = []
    usage, correction = row["ChargeCategory"] == "Usage", row["ChargeClass"] == "Correction"
    needed = ("PricingQuantity", "ListUnitPrice", "ContractedUnitPrice", "PricingCategory", "SkuId", "SkuPriceId")
    if (usage or row["ChargeCategory"] == "Purchase") and not correction:
        needed = (*needed, "ConsumedQuantity") if usage else needed
        found.extend(f"{name} must not be null for usage or a purchase" for name in needed if not row[name])
        if row["ConsumedQuantity"].startswith("-"):
            found.append("ConsumedQuantity has to be positive")
    if not usage and row["ConsumedQuantity"]:
        found.append("ConsumedQuantity must be null for what is not usage")
    if bool(row["SkuPriceId"]) != bool(row["PricingQuantity"]):
        found.append("PricingQuantity is there when SkuPriceId is")
    found.extend(
        f"{name} must not be negative" for name in ("ListUnitPrice", "ContractedUnitPrice") if row[name].startswith("-")
    )
    for name in ("PricingUnit", "ConsumedUnit"):
        if row[name] and not _UNIT.match(row[name]):
            found.append(f"{name} is no unit: {row[name]}")
    return found
