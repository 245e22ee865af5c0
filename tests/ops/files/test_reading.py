"""Every file that is read may be anything: it is taken, or refused in one message."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.settings import SettingsObserved
from ops.cli.known_failures import KNOWN as EVERYWHERE
from ops.files.manifests import read_manifests
from ops.files.reading import NODES_AT_MOST, Unreadable, bytes_of, json_of, text_of, yaml_as_written, yaml_of
from ops.production.archive.backup import MANIFEST, read_manifest
from ops.production.archive.errors import BackupRefused, FolderUnreadable
from ops.production.archive.proof.evidence import load_evidence, load_statement
from ops.production.archive.proof.witness import HEADS, HeadWitness
from ops.production.archive.restore import check_filed
from ops.production.configuration.configuration_file import read_configuration
from ops.production.kubernetes.client import connect
from ops.production.log.snapshots import read_snapshot
from ops.queries.billing.price_file import read_price_file
from ops.queries.billing.problems import BillRefused
from ops.queries.settings_change import BadChange, changed_settings
from ops.queries.whatif.change import ChangedField
from ops.sandbox.bench.load import LoadUnreadable, read_load
from ops.sandbox.failures import SANDBOX_FAILURES
from ops.sandbox.scenario.script import load
from services.runtime.log_port import Entry

KNOWN = (*EVERYWHERE, *SANDBOX_FAILURES)
BOMB = b"a: &a [x,x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n" % (name, name, *(name - 1,) * 10)
    for name in range(ord("b"), ord("k"))
)
MERGED = b"a: &a {x: 1, y: 2}\n" + b"".join(
    b"%c: &%c {<<: [%s]}\n" % (name, name, b",".join([b"*%c" % (name - 1)] * 10)) for name in range(ord("b"), ord("k"))
)
HOSTILE = {
    "deep": b"[" * 100_000,
    "deep mappings": b"{a: " * 50_000,
    "deep by aliases": b"a: &a [x]\n"
    + b"".join(b"a%d: &a%d [*a%s]\n" % (n, n, b"%d" % (n - 1) if n else b"") for n in range(5000)),
    "no text": b"\xff\xfe\x00\x01",
    "nothing": b"",
    "null": b"null",
    "a number": b"5",
    "a list": b"[1, 2]",
    "aliases": BOMB,
    "merged": MERGED,
    "holds itself": b"&a [*a]",
    "a python": b"!!python/object/apply:os.system [false]",
    "an empty number": b'a: !!int ""',
    "a bool that is none": b"a: !!bool x",
    "a time that is none": b"a: !!timestamp x",
    "a day that is none": b"a: 2001-99-99",
    "a long number": b"a: " + b"9" * 6000,
    "a large number": b"a: 99999999999999999999999",
    "half a character": b'a: "\\ud800"',
    "no character": b'a: "\\UFFFFFFFF"',
    "a control character": b"a: \x07",
    "odd keys": b"{1: a, b: c, ~: d, [e]: f}",
    "two documents": b"a: 1\n---\nb: 2\n",
}


def _prices(path: Path) -> object:
    return read_price_file(path, author="a", reason="r", now=0, first=0)


READERS: dict[str, Callable[[Path], object]] = {
    "manifests": lambda path: read_manifests([path], loose=True),
    "configuration": read_configuration,
    "prices": _prices,
    "a load": read_load,
    "a scenario": lambda path: load(path.parent),
    "a snapshot": lambda path: read_snapshot(path, "1"),
    "a statement": lambda path: load_statement(str(path)),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_is_refused_in_one_message(tmp_path: Path, reader: str, what: str) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_bytes(HOSTILE[what])
    try:
        READERS[reader](path)
    except KNOWN as failure:
        assert str(failure)
        assert len(str(failure)) < 1000


KEYS = st.sampled_from(
    [
        "kind",
        "metadata",
        "items",
        "title",
        "nodes",
        "steps",
        "cohorts",
        "prices",
        "currency",
        "charges",
        "resources",
        "x",
    ]
)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=st.dictionaries(KEYS, ODD, max_size=6) | ODD, raw=st.none() | st.binary(max_size=40))
def test_whatever_a_file_holds_no_reader_fails_otherwise(
    tmp_path: Path, reader: str, value: object, raw: bytes | None
) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_bytes(yaml.safe_dump(value, allow_unicode=False).encode() if raw is None else raw)
    try:
        READERS[reader](path)
    except KNOWN as failure:
        assert str(failure)


def test_aliases_may_repeat_what_stays_small() -> None:
    assert yaml_of("a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: [*a, *a]\n") == {
        "a": {"x": 1},
        "b": {"x": 1, "y": 2},
        "c": [{"x": 1}, {"x": 1}],
    }


def test_aliases_that_multiply_without_end_are_refused_with_their_line() -> None:
    with pytest.raises(Unreadable, match=str(NODES_AT_MOST)) as told:
        yaml_of(BOMB)
    assert told.value.line == 6


def test_a_character_that_json_escapes_as_two_halves_is_one() -> None:
    assert yaml_of(json.dumps({"a": "\N{GRINNING FACE}"})) == {"a": "\N{GRINNING FACE}"}


def test_numbers_can_stay_as_they_are_written() -> None:
    assert yaml_as_written("a: 0.10\nb: 1e400\nc: 2001-99-99\n") == {"a": "0.10", "b": "1e400", "c": "2001-99-99"}


def test_a_file_without_end_is_refused() -> None:
    with pytest.raises(Unreadable, match="longer than 64 MiB"):
        bytes_of(Path("/dev/zero"))


def test_lines_end_as_they_do_on_other_systems(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes("\N{ZERO WIDTH NO-BREAK SPACE}a: 1\r\nb: 2\r".encode())
    assert text_of(path) == "a: 1\nb: 2\n"


def test_json_that_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(Unreadable, match="nested too deep"):
        json_of(b"[" * 100_000, list)


@pytest.mark.parametrize(
    "text", ["fair_sharing.x=1", "gates.A=&a [*a]", "gates=[", "fair_sharing=!!int ''", "gates.=1"]
)
def test_an_odd_setting_is_refused(text: str) -> None:
    with pytest.raises(BadChange):
        changed_settings(SettingsObserved(), [text])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "gates.PartialAdmision=false",
            "there is no feature gate PartialAdmision that means anything here: write PartialAdmission",
        ),
        (
            "gates={Nonsense: true}",
            "there is no feature gate Nonsense that means anything here: docs/configuration.md has all",
        ),
        ("hami.nodePolicy=spread", "hami has no nodePolicy; it has namespace, device_config, node_config, node_policy"),
        ("admission_fair_sharing={half_life: 5, resource_weights: {}}", ""),
        ("gates.PartialAdmission=false", ""),
        ("hami.node_policy=spread", ""),
        ("device_policies.v100=Cap", ""),
    ],
)
def test_a_setting_that_nothing_reads_is_refused_instead_of_making_no_difference(text: str, told: str) -> None:
    if not told:
        assert changed_settings(SettingsObserved(), [text]) != SettingsObserved()
        return
    with pytest.raises(BadChange, match=told):
        changed_settings(SettingsObserved(), [text])


def test_a_gate_of_before_that_is_on_the_log_stands_in_no_way() -> None:
    before = SettingsObserved(gates={"OfAnOlderVersion": True})
    assert changed_settings(before, ["gates.PartialAdmission=false"]).gates == {
        "OfAnOlderVersion": True,
        "PartialAdmission": False,
    }


def test_what_stands_below_a_value_can_not_be_set() -> None:
    with pytest.raises(BadChange, match="nothing below name"):
        ChangedField("clusterqueue/a:metadata.name.x=1").apply({"metadata": {"name": "a"}})
    with pytest.raises(BadChange):
        ChangedField("clusterqueue/a:spec.cohort=" + "[" * 5000)


def test_a_load_whose_amounts_are_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "load.yaml"
    path.write_text("cohorts: [{className: a, count: 1, queuesSets: [{className: q, count: 1, nominalQuota: lots}]}]\n")
    with pytest.raises(LoadUnreadable, match="lots"):
        read_load(path)


@pytest.mark.parametrize("charges", ["5", "Usage", "{a: 1}"])
def test_charges_that_are_no_list_are_refused(tmp_path: Path, charges: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(f"currency: EUR\nprices: [{{meter: card-hours, price: 1}}]\ncharges: {charges}\n")
    with pytest.raises(BillRefused):
        _prices(path)


@pytest.mark.parametrize(
    "data",
    [b"[" * 100_000, b"\xff\xfe", b"5", b"contexts: 5", b"current-context: a\ncontexts: [5]", b"users: {a: [}", BOMB],
)
async def test_a_kubeconfig_that_is_none_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "config"
    path.write_bytes(data)
    with pytest.raises(KNOWN):
        await connect(str(path))


HEAD = {"sequence": 1, "sha256": "00", "root": "00" * 32, "peaks": ["zz"], "key": "k", "signature": "zz"}
FILES = [b"[" * 100_000, b"\xff", b"5", b'{"FACTS": 5}', b'{"FACTS": {"sequence": -1, "sha256": ""}}']


@pytest.mark.parametrize("data", [*FILES, json.dumps({"FACTS": {**HEAD, "sequence": 1 << 70}}).encode()])
@pytest.mark.parametrize("name", ["heads.json", "keys.json"])
def test_a_witness_folder_with_odd_files_is_refused(tmp_path: Path, data: bytes, name: str) -> None:
    (tmp_path / HEADS).write_text("{}")
    (tmp_path / name).write_bytes(data)
    with pytest.raises(KNOWN):
        HeadWitness(tmp_path)
    with pytest.raises(KNOWN):
        load_evidence(str(tmp_path))


@pytest.mark.parametrize("stream", ["../outside", "/etc/outside", "a/../../outside", "a\0b", "a\\b"])
def test_a_checkpoint_that_names_a_place_outside_of_its_folder_is_refused(tmp_path: Path, stream: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "outside.leaves").write_bytes(b"x" * 32)
    (tmp_path / "in" / HEADS).write_text(json.dumps({stream: HEAD}))
    with pytest.raises(FolderUnreadable, match="names a file"):
        load_evidence(str(tmp_path / "in"))


def test_a_link_that_leads_out_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("{}")
    os.symlink(tmp_path / "secret", tmp_path / "in" / HEADS)
    with pytest.raises(FolderUnreadable, match="leads out of it"):
        load_evidence(str(tmp_path / "in"))


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b"5", b"\xff", b'{"streams": {"FACTS": {"first": 0, "last": -1}}, "files": {}}']
)
def test_a_list_of_a_backup_that_is_none_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(data)
    with pytest.raises(BackupRefused, match="can't be read"):
        read_manifest(str(tmp_path))


@pytest.mark.parametrize(
    "odd",
    [
        {"subject": "$JS.API.STREAM.DELETE.FACTS"},
        {"subject": "_INBOX.a"},
        {"subject": "kuelog.>"},
        {"subject": "kuelog.facts.a b"},
        {"message_id": "a\r\nNats-Rollup: all"},
        {"trace": "a\n"},
    ],
)
def test_a_message_that_is_filed_as_none_of_ours_is_not_restored(odd: dict[str, str]) -> None:
    ours = Entry(stream="FACTS", sequence=1, subject="kuelog.facts._cluster.PodsGone", message_id="a", data=b"{}")
    check_filed(ours)
    with pytest.raises(BackupRefused, match="FACTS 1"):
        check_filed(msgspec.structs.replace(ours, **odd))
