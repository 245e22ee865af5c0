"""Data sets against the specification: its own list of columns.

`focus_1_2.csv` lists the 57 columns of FOCUS 1.2: their names as data sets of that version bear them, whether they are mandatory
and may be null as far as that is known here without the text of the specification. The validator on PyPI
(focus-validator 1.0.0) is no judge of it: it knows FOCUS 1.0 alone, and asks for Provider and ResourceID, which are names
of no version.
"""

import csv
from pathlib import Path

import msgspec

from ops.queries.billing.focus import rows
from ops.queries.billing.focus_columns import ALL_COLUMNS, NAMES
from tests.laws.test_ledger import lived

SPECIFIED = {
    one["ColumnId"]: one for one in csv.DictReader((Path(__file__).parent / "focus_1_2.csv").read_text().splitlines())
}
PROPERTIES = frozenset(
    [
        "CoreCount",
        "DiskMaxIops",
        "DiskSpace",
        "DiskType",
        "GpuCount",
        "InstanceSeries",
        "InstanceType",
        "MemorySize",
        "NetworkMaxIops",
        "NetworkMaxThroughput",
        "OperatingSystem",
        "Redundancy",
        "StorageClass",
    ]
)
"""The keys of SkuPriceDetails that the specification defines."""


def test_the_columns_are_those_of_the_specification() -> None:
    ours = {one.name: one for one in ALL_COLUMNS if not one.name.startswith("x_")}
    assert ours.keys() <= SPECIFIED.keys()
    assert {name for name, one in SPECIFIED.items() if one["FeatureLevel"] == "Mandatory"} == {
        name for name, one in ours.items() if one.mandatory
    }
    assert {name: one.kind.value for name, one in ours.items()} == {name: SPECIFIED[name]["DataType"] for name in ours}
    assert {name for name, one in ours.items() if one.nullable and SPECIFIED[name]["AllowsNulls"] == "False"} == set()
    assert len(SPECIFIED) == 57 and len({name for name in ours if ours[name].mandatory}) == 21


def test_the_properties_of_a_price_are_those_of_the_specification_or_ours() -> None:
    _, _, ledger, window = lived(0)
    found = {row[NAMES.index("SkuPriceId")]: row[NAMES.index("SkuPriceDetails")] for row in rows(ledger, window)}
    for price, text in found.items():
        assert bool(price) is bool(text), "a price has properties, and nothing else has"
        keys = set(msgspec.json.decode(text, type=dict[str, object])) if text else set[str]()
        assert {key for key in keys if key not in PROPERTIES and not key.startswith("x_")} == set()
        assert "CoreCount" not in keys, "CoreCount is of CPUs"
    for row in rows(ledger, window):
        told = dict(zip(NAMES, row, strict=True))
        if told["SkuPriceId"]:
            assert told["SkuPriceDetails"] == found[told["SkuPriceId"]], "all charges of a price have them in common"
