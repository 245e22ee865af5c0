"""Bills, prices and corrections on the command line, on a log that is written to a real bus."""

import asyncio
import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import ANY

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from events.codec import decode_commit, decode_sighting, encode
from events.subjects import FACTS, commit_subject, fact_subject
from ops.production.log.jetstream.bus import connect
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import SOLE
from ops.queries.billing.focus_columns import MANDATORY, NAMES, broken_rules
from services.runtime.log_port import Entry, Message
from tests.laws.random_day import Day, prices
from tests.ops.cli.test_command_line import kuelog

PRICES = """name: november
currency: EUR
from: 2026-01-01
prices:
- {meter: memory, price: "400.04"}
- {meter: cores, price: "12000.20", flavor: v100}
"""


async def stored(folder: Path, entries: dict[str, list[Entry]]) -> None:
    server = NatsServer(folder / "nats")
    await server.start()
    bus = await connect(server.url)
    for name in SOLE.every:
        stream = await bus.stream(name)
        for entry in entries.get(name, ()):
            where, message_id = subject_of(entry), str(json.loads(entry.data)["id"])
            if name == FACTS:
                await stream.publish([Message(where, entry.data, message_id)])
            else:
                await stream.append(where, entry.data, message_id=message_id, base=entry.sequence - 1)
    await bus.close()
    await server.stop()


def subject_of(entry: Entry) -> str:
    """Where its author files it."""
    if entry.stream == FACTS:
        return fact_subject("", type(decode_sighting(entry.data).fact).__name__)
    return commit_subject(entry.stream, decode_commit(entry.data).author)


def a_run(folder: Path) -> str:
    """A day of which nobody has said what it costs."""
    day = Day(3, lambda *_: None)
    day.begin()
    day.decide()
    for _ in range(25):
        day.step()
    del day.entries["CONTROL"][:]
    asyncio.run(stored(folder, day.entries))
    return str(folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return a_run(tmp_path_factory.mktemp("bill"))


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("priced")
    (folder / "prices.yaml").write_text(PRICES)
    data = a_run(folder)
    assert told("price", "set", "-f", str(folder / "prices.yaml"), "--data", data)[0] == 0
    return data


def test_a_wrong_clock_is_a_finding(tmp_path: Path) -> None:
    day = Day(3, lambda *_: None)
    day.begin()
    day.decide()
    for _ in range(25):
        day.step()
    wrong = json.loads(day.entries[FACTS][10].data)
    data = json.dumps({**wrong, "at": wrong["at"] + 3_600_000}).encode()
    day.entries[FACTS][10] = replace(day.entries[FACTS][10], data=data)
    asyncio.run(stored(tmp_path, day.entries))
    code, _, warned = told("bill", "--data", str(tmp_path))
    assert code == 1 and "FACTS 11 of watcher has a time that is wrong by 3599990 ms: set the clock" in warned


def test_up_to_when_what_goes_on_is_counted_is_said_also_where_prices_were_entered_later(priced: str) -> None:
    code, _, warned = told("bill", "--data", priced)
    assert "note: the cluster was last heard of at" in warned and "what goes on is counted up to then" in warned, code


def told(*words: str) -> tuple[int, str, str]:
    done = kuelog(*words)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, " ".join(done.stderr.split())


def test_first_without_prices_then_with_them_then_corrected(run: str, tmp_path: Path) -> None:
    where = ("--data", run)
    code, text, warned = told("bill", *where, "-o", "json")
    before = json.loads(text)
    assert code == 1 and before["total"] == {} and "no price for cards of flavor v100" in warned
    assert {line["cost"] for line in before["lines"]} == {None}, "what has no price has no cost, not a cost of zero"
    code, text, warned = told("bill", *where, "-o", "focus")
    assert (code, text.count("\n")) == (1, 1), "FOCUS wants a cost in each row, so there is none"

    (tmp_path / "prices.yaml").write_text(PRICES)
    code, text, _ = told("price", "set", "-f", str(tmp_path / "prices.yaml"), *where, "--author", "ann")
    assert code == 0 and "CONTROL/1: price list november with 2 prices in EUR is in force from 2026-01-01" in text
    code, _, text = told("price", "set", "-f", str(tmp_path / "prices.yaml"), *where)
    assert code == 2 and "what was charged is never changed" in text
    assert told("price", "list", *where, "-o", "json")[0] == 0

    code, text, warned = told("bill", *where, "-o", "json")
    priced = json.loads(text)
    assert code == 0, warned
    assert priced["cards"] == before["cards"] and priced["quota"] == before["quota"]
    assert float(priced["total"]["EUR"]) > 0
    assert told("bill", *where, "-o", "json")[1] == text, "the same log gives the same bytes"

    code, text, _ = told("bill", "entries", *where, "-o", "json")
    entry = next(one for one in json.loads(text) if one["ended"])
    code, text, _ = told("bill", "correct", *where, "--entry", entry["id"], "--reason", "the card had failed")
    assert code == 0, text
    assert told("bill", "correct", *where, "--entry", entry["id"], "--reason", "again")[0] == 2
    code, text, _ = told("bill", "correct", *where, "--tenant", "team", "--amount=-1.00", "--reason", "goodwill")
    assert code == 0, text
    code, text, warned = told("bill", *where, "-o", "json")
    after = json.loads(text)
    assert code == 0, warned
    assert [line["kind"] for line in after["lines"]].count("correction") == 2
    assert after["cards"] == before["cards"], "what operators enter moves no time of cards"

    the_data_sets_agree(where, tmp_path)


def test_what_finds_nothing_says_so(run: str) -> None:
    where = ("--data", run)
    assert told("bill", "entries", "--workload", "a/nope", *where)[:2] == (1, "the period has no entry of a/nope\n")
    code, text, _ = told("bill", "entries", "--workload", "a/nope", *where, "-o", "json")
    assert (code, json.loads(text)) == (1, [])


def test_what_is_entered_before_there_is_anything_to_bill_is_listed(tmp_path: Path) -> None:
    asyncio.run(stored(tmp_path / "run", {}))
    where = ("--data", str(tmp_path / "run"))
    code, text, _ = told("price", "list", *where)
    assert code == 0 and text.startswith("nothing was entered: ")
    (tmp_path / "prices.yaml").write_text(PRICES, encoding="utf-8")
    assert told("price", "set", "-f", str(tmp_path / "prices.yaml"), *where)[0] == 0
    code, text, _ = told("price", "list", *where)
    assert code == 0 and "november" in text


def test_a_list_that_has_nothing_in_it_is_no_failure_and_says_what_to_do(tmp_path: Path) -> None:
    where = ("--data", a_run(tmp_path / "fresh"))
    for words, said in (
        (("bill", "closed"), "no month is closed: `kuelog bill close MONTH` closes one"),
        (("price", "list"), "nothing was entered: `kuelog price set -f FILE` enters some"),
        (("price", "rates"), "nothing was entered: `kuelog price rate "),
        (("account", "list"), "nothing was entered: `kuelog account set -f FILE` enters some"),
        (("budget", "list"), "there is no budget: the annotation kuelog.io/budget of"),
    ):
        code, text, _ = told(*words, *where)
        assert code == 0 and text.startswith(said), words
        code, text, _ = told(*words, *where, "-o", "json")
        assert code == 0 and json.loads(text) in ([], {"at": ANY, "budgets": []}), words
    code, _, warned = told("budget", "show", "clusterqueue/nope", *where)
    assert code == 2 and "clusterqueue/nope has no budget; there is no budget: the annotation" in warned


def the_data_sets_agree(where: tuple[str, ...], tmp_path: Path) -> None:
    code, text, _ = told("bill", *where, "-o", "focus")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(text)))
    assert tuple(rows[0]) == NAMES and set(MANDATORY) <= set(NAMES) and len(MANDATORY) == 21
    assert [problem for row in rows for problem in broken_rules(row)] == []
    assert {row["ChargeCategory"] for row in rows} >= {"Usage", "Adjustment"}
    file = tmp_path / "focus.parquet"
    assert told("bill", *where, "-o", "focus", "--out", str(file))[0] == 0
    table = pq.read_table(file)
    assert table.schema.metadata[b"FocusVersion"] == b"1.2"
    billed = [str(cost) for cost in table.column("BilledCost").to_pylist()]
    assert [float(cost) for cost in billed] == [float(row["BilledCost"]) for row in rows]
    flat = tmp_path / "bill.parquet"
    assert told("bill", *where, "-o", "parquet", "--out", str(flat), "--group-by", "card")[0] == 0
    first = flat.read_bytes()
    assert told("bill", *where, "-o", "parquet", "--out", str(flat), "--group-by", "card")[0] == 0
    assert flat.read_bytes() == first
    code, text, _ = told("bill", *where, "-o", "csv", "--group-by", "card,workload")
    assert code == 0 and sum(int(row["memory_mib_ms"]) for row in csv.DictReader(io.StringIO(text))) == sum(
        int(amount) for amount in pq.read_table(flat).column("memory_mib_ms").to_pylist()
    )
    code, text, _ = told("bill", "reconcile", *where, "--by", "1", "-o", "json")
    assert code == 0 and json.loads(text)["mismatches"] == []
    assert "Where the time of the cards went" in told("bill", *where)[1]


def test_a_bill_has_the_same_bytes_in_every_locale_time_zone_and_order_of_hashes(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(PRICES)
    where = ("--data", a_run(tmp_path), "--group-by", "tenant,workload,card")
    assert told("price", "set", "-f", str(tmp_path / "prices.yaml"), *where[:2])[0] == 0
    assert told("bill", "correct", "--tenant", "team", "--amount", "1", "--reason", "März", *where[:2])[0] == 0
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONHASHSEED": "7", "TZ": "Asia/Kolkata"}
    plain["PATH"], plain["HOME"], plain["PYTHONPATH"] = "/usr/bin:/bin", str(tmp_path), os.pathsep.join(sys.path)

    def elsewhere(*words: str) -> bytes:
        command = [sys.executable, "-c", "from ops.cli.main import main; main()", "bill", *words]
        done = subprocess.run(command, env=plain, capture_output=True, check=False)
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr.decode(errors="replace")
        return done.stdout

    for form in ("csv", "json", "yaml"):
        assert elsewhere(*where, "-o", form) == told("bill", *where, "-o", form)[1].encode()
    focus = told("bill", *where[:2], "-o", "focus")[1]
    assert "März" in focus and elsewhere(*where[:2], "-o", "focus") == focus.encode()
    for name in ("focus.csv", "focus.parquet", "plain.json", "plain.parquet"):
        file, (kind, _, ending) = tmp_path / name, name.partition(".")
        asked = (*where[:2], "-o", "focus") if kind == "focus" else (*where, "-o", ending)
        elsewhere(*asked, "--out", str(file))
        there = file.read_bytes()
        assert told("bill", *asked, "--out", str(file))[0] == 0 and file.read_bytes() == there


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--from", "+60s", "--to", "+30s"), "before it starts"),
        (("--from", "yesterday"), "'yesterday' is no time: write a month 2026-11"),
        (("--tenant", "nobody"), "the log knows no tenant nobody; it knows team"),
        (("--account", "nobody"), "nobody pays from an account nobody; there are team"),
        (("--group-by", "colour"), "--group-by colour is unknown: choose from tenant, queue"),
        (("-o", "xml"), "'xml' is not one of 'table', 'csv', 'json', 'yaml', 'parquet', 'focus'"),
        (("-o", "parquet"), "name it with --out"),
        (("-o", "json", "--out", "/nowhere/b.json"), "/nowhere/b.json can't be written: No such file or directory"),
        (("-o", "focus", "--group-by", "card"), "a row per charge"),
        (("correct", "--entry", "12", "--reason", "x"), "the ledger has no entry 12"),
        (("correct", "--tenant", "team", "--amount", "lots", "--reason", "x"), "'lots' is no amount"),
        (("correct", "--tenant", "nobody", "--amount", "1", "--reason", "x"), "knows no tenant nobody"),
    ],
)
def test_bad_questions_are_answered_with_what_to_write(priced: str, words: tuple[str, ...], message: str) -> None:
    code, _, text = told("bill", *words, "--data", priced)
    assert code == 2 and message in text


def test_a_price_of_an_event_is_what_was_written() -> None:
    assert b'"0.05"' in encode(prices("x", starts=0, factor=5))
