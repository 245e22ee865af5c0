"""Whatever is asked of a log is answered by its archive in the same bytes, and by the two read as one."""

import asyncio
import gc
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from typer.testing import CliRunner

from events.subjects import CONTROL, FACTS
from ops.cli.main import app
from ops.production.archive.archive import LIST, segments_of, write_archive
from ops.production.archive.folder import Folder
from ops.production.archive.history import read_stored
from ops.production.archive.proof.witness import HeadWitness
from ops.production.archive.segments.segment import from_parquet, to_parquet
from ops.production.log.jetstream.bus import connect
from ops.production.log.server.server import NatsServer
from ops.production.log.snapshots import Snapshots
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.wiring import RULES
from ops.queries.point import point_at
from ops.queries.replay import fold_partition
from ops.sandbox.bench.day import played, small_day
from services.runtime.log_port import Entry, Message
from tests.ops.queries.audit.logs import Log, begin_streams, evidence_of, key_of
from tests.places import ROOT

KEY = key_of(7)
PRICES = """name: first
currency: EUR
from: 2026-01-01
prices:
- {meter: memory, price: "0.04"}
- {meter: cores, price: "1.20"}
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 4000}}}]}
"""


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The same log, kept in different ways."""

    log: Log
    whole: str
    """A folder as a run leaves it."""
    archive: str
    """All of it."""
    early: str
    """The archive of its first part."""
    behind: str
    """A folder whose streams were begun anew behind `early`."""
    trimmed: str
    """A folder whose streams have lost their first part, but not all that `early` holds."""

    def sources(self) -> dict[str, tuple[str, ...]]:
        return {
            "the archive alone": ("--archive", self.archive),
            "archive and log that overlap": ("--archive", self.early, "--data", self.whole),
            "a log begun anew behind its archive": ("--archive", self.early, "--data", self.behind),
            "a log with its beginning in the archive": ("--archive", self.early, "--data", self.trimmed),
        }


def kuelog(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words), env={"COLUMNS": "300"})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def traced(entry: Entry) -> dict[str, str]:
    return {"traceparent": f"00-{entry.sequence:032x}-{1:016x}-01"}


async def stored(folder: Path, log: Mapping[str, Sequence[Entry]], begins: Mapping[str, int] | None = None) -> None:
    """A folder that holds a log, or what of it stands from some sequences on."""
    server = NatsServer(folder / "nats")
    await server.start()
    bus = await connect(server.url)
    await begin_streams(bus, begins or {})
    for name, entries in log.items():
        stream = await bus.stream(name)
        for entry in entries[(begins or {}).get(name, 1) - 1 :]:
            if name == FACTS:
                await stream.publish([Message(entry.subject, entry.data, entry.message_id)])
            else:
                base, headers = entry.sequence - 1, traced(entry)
                await stream.append(entry.subject, entry.data, message_id=entry.message_id, base=base, headers=headers)
    await bus.close()
    await server.stop()


async def witnessed(folder: Path) -> Log:
    """Everything signed; and what a reader of the bus sees of it."""
    server = NatsServer(folder / "nats")
    await server.start()
    bus = await connect(server.url)
    log = await read_stored(bus)
    witness = HeadWitness(folder / "witness")
    for name in log:
        await witness.witness(await bus.stream(name))
    await bus.close()
    await server.stop()
    return log


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    folder = tmp_path_factory.mktemp("places")
    day, _ = played(small_day(0))
    asyncio.run(stored(folder / "whole", day))
    (folder / "prices.yaml").write_text(PRICES)
    code, told = kuelog("price", "set", "-f", str(folder / "prices.yaml"), "--data", str(folder / "whole"))
    assert code == 0, told
    log = asyncio.run(witnessed(folder / "whole"))
    assert {name: len(found) for name, found in log.items()} == {**{k: len(v) for k, v in day.items()}, CONTROL: 1}
    code, told = kuelog("audit", "archive", str(folder / "archive"), "--data", str(folder / "whole"))
    assert code == 0, told
    early = {name: found if name == CONTROL else found[: len(found) * 2 // 3] for name, found in log.items()}
    write_archive(early, evidence_of(early, KEY), str(folder / "early"))
    asyncio.run(stored(folder / "behind", log, {name: len(found) + 1 for name, found in early.items()}))
    asyncio.run(stored(folder / "trimmed", log, {name: len(found) // 2 + 1 for name, found in early.items()}))
    (folder / "pod.yaml").write_text(POD)
    return Places(
        log=log,
        whole=str(folder / "whole"),
        archive=str(folder / "archive"),
        early=str(folder / "early"),
        behind=str(folder / "behind"),
        trimmed=str(folder / "trimmed"),
    )


@pytest.fixture
def damaged(places: Places, tmp_path: Path) -> Path:
    """An archive to do harm to."""
    return Path(shutil.copytree(places.archive, tmp_path / "archive"))


@pytest.fixture(autouse=True, scope="module")
def collected_as_before() -> Iterator[None]:
    """A bill tells the collector to look seldom; here others come after it."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def segment_of(archive: Path, stream: str) -> Path:
    return archive / next(one.file for one in segments_of(Folder(str(archive))) if one.stream == stream)


@pytest.mark.parametrize(
    "words",
    [
        ("replay",),
        ("replay", "--show", "state"),
        ("replay", "--until", "DEVICES_default/9", "--show", "workloads", "-o", "json"),
        ("replay", "--verify"),
        ("replay", "--rules", "devices=false"),
        ("replay", "--rules", str(ROOT), "-o", "json"),
        ("history", "workload/day/w28", "--all"),
        ("history", "clusterqueue/queue-0", "-o", "json"),
        ("log", "show"),
        ("log", "show", "--type", "Preemption*", "--last", "3", "-o", "json"),
        ("explain", "workload/day/w28"),
        ("explain", "clusterqueue/queue-0", "--at", "30", "-o", "json"),
        ("whatif", "--rules", "devices=false", "-o", "json"),
        ("bill", "--group-by", "tenant,card"),
        ("bill", "-o", "csv"),
        ("bill", "-o", "json"),
        ("bill", "-o", "focus"),
        ("bill", "entries"),
        ("bill", "reconcile", "--by", "60"),
        ("price", "list", "-o", "json"),
        ("devices", "--at", "+2h"),
        ("devices", "fit", "-f", "pod.yaml"),
        ("devices", "metrics"),
        ("drift", "-o", "json"),
        ("audit", "query", "SELECT * FROM events ORDER BY ALL"),
    ],
    ids=" ".join,
)
def test_the_archive_and_the_two_as_one_answer_as_the_log_does(words: tuple[str, ...], places: Places) -> None:
    words = tuple(str(Path(places.whole).parent / word) if word == "pod.yaml" else word for word in words)
    code, told = kuelog(*words, "--data", places.whole)
    assert code in (0, 1) and len(told) > 40, told
    for name, source in places.sources().items():
        assert kuelog(*words, *source) == (code, told), name


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (("-o", "focus"), "focus.csv"),
        (("-o", "focus"), "focus.parquet"),
        (("-o", "parquet", "--group-by", "card"), "bill.parquet"),
    ],
)
def test_data_sets_of_a_bill_are_the_same_bytes(
    words: tuple[str, ...], file: str, places: Places, tmp_path: Path
) -> None:
    out = tmp_path / file
    assert kuelog("bill", *words, "--out", str(out), "--data", places.whole)[0] == 0
    expected = out.read_bytes()
    for name, source in places.sources().items():
        out.unlink()
        assert kuelog("bill", *words, "--out", str(out), *source)[0] == 0
        assert out.read_bytes() == expected, name


def test_what_is_told_of_traces_survives_the_archive(places: Places) -> None:
    code, told = kuelog("history", "workload/day/w28", "--archive", places.archive, "-o", "json")
    lines = msgspec.json.decode(told)
    assert code == 0
    assert {one["trace"] for one in lines if one["partition"] == PARTITION} == {
        f"{one['sequence']:032x}" for one in lines if one["partition"] == PARTITION
    }


def test_every_partition_of_an_archive_is_decided_again(places: Places) -> None:
    code, told = kuelog("replay", "--verify", "--archive", places.archive, "-o", "json")
    partitions = msgspec.json.decode(told)
    assert (code, [one["differences"] for one in partitions]) == (0, [[], []])
    assert [one["verified"] for one in partitions] == [len(places.log[PARTITION]), len(places.log[DEVICE_PARTITION])]


def test_a_price_list_is_entered_behind_what_the_archive_holds(places: Places, tmp_path: Path) -> None:
    data = shutil.copytree(places.behind, tmp_path / "run")
    (tmp_path / "next.yaml").write_text(PRICES.replace("2026-01-01", "2099-01-01").replace("first", "second"))
    entering = ("price", "set", "-f", str(tmp_path / "next.yaml"))
    code, told = kuelog(*entering, "--archive", places.early)
    assert code == 2 and "nothing is entered in the archive" in told and "--data or --nats" in told
    code, told = kuelog(*entering, "--archive", places.early, "--data", str(data))
    assert code == 0 and "CONTROL/2: price list second" in told
    code, told = kuelog("price", "list", "--archive", places.early, "--data", str(data), "-o", "json")
    assert code == 0 and [one["name"] for one in msgspec.json.decode(told)] == ["first", "second"]


def test_an_archive_that_cannot_be_read_is_one_clear_message(places: Places, damaged: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for archive, expected in (
        (str(tmp_path / "nowhere"), "holds no archive.json: it is no archive; `kuelog audit archive` makes one"),
        (str(tmp_path / "empty"), "holds no archive.json"),
        ("gopher://x", "no storage of that kind can be used here"),
        ("http://127.0.0.1:9/archive", "127.0.0.1:9"),
        (f"zip://archive::{tmp_path}/nowhere.zip", "No such file"),
    ):
        for words in (("replay",), ("bill",), ("audit", "query", "SELECT 1")):
            code, told = kuelog(*words, "--archive", archive)
            assert code == 2 and expected in told and told.count("error:") == 1, (words, told)
    (damaged / LIST).write_bytes(b"[{")
    code, told = kuelog("replay", "--archive", str(damaged))
    assert code == 2 and f"{LIST} can't be read" in told


def test_a_file_that_is_not_the_archived_one_is_named_with_the_row(damaged: Path) -> None:
    path = segment_of(damaged, FACTS)
    name = f"{FACTS}/{path.name}"
    good = path.read_bytes()
    rows = from_parquet(good)
    other = msgspec.structs.replace(rows[16], data=rows[16].data.replace(b"watcher", b"watches"))
    for harm, expected in (
        (to_parquet([*rows[:16], other, *rows[17:]]), f"row 17 is another message than {FACTS} 17 was"),
        (to_parquet([*rows[:16], *rows[17:]]), f"row 17 holds {FACTS} 18 instead of {FACTS} 17"),
        (to_parquet(rows[:-1]), f"it has {len(rows) - 1} rows instead of {len(rows)}"),
        (to_parquet([msgspec.structs.replace(rows[0], trace="0"), *rows[1:]]), "its rows are"),
        (good[:-9], "is not the file that was archived and can't be read"),
        (None, "is not there"),
    ):
        path.unlink() if harm is None else path.write_bytes(harm)
        for words in (("explain", "workload/day/w28"), ("price", "list"), ("audit", "query", "SELECT 1")):
            code, told = kuelog(*words, "--archive", str(damaged))
            assert code == 2 and f"{name} " in told and expected in told, (words, told)
    code, told = kuelog("audit", "verify", "--archive", str(damaged))
    assert code == 1 and FACTS in told


def test_a_file_that_the_list_leaves_out_is_missed(damaged: Path) -> None:
    segments = segments_of(Folder(str(damaged)))
    facts = next(one for one in segments if one.stream == FACTS)
    for listed, expected in (
        ([one for one in segments if one.stream != FACTS], f"{FACTS} 1–{facts.last} archive.json names no file"),
        ([*segments, facts], "holds what archive.json names another file for"),
    ):
        (damaged / LIST).write_bytes(msgspec.json.encode(listed))
        for words in (("replay", "--verify"), ("audit", "query", "SELECT 1")):
            code, told = kuelog(*words, "--archive", str(damaged))
            assert code == 2 and expected in told, told


def test_a_query_takes_an_archive_unchecked_only_when_told_to_and_says_so(damaged: Path, places: Places) -> None:
    path = segment_of(damaged, FACTS)
    path.write_bytes(to_parquet(from_parquet(path.read_bytes())[:-1]))
    words = ("audit", "query", "SELECT count(*) AS n FROM facts", "-o", "json")
    assert kuelog(*words, "--archive", str(damaged))[0] == 2
    done = CliRunner().invoke(app, [*words, "--archive", str(damaged), "--unchecked"], env={"COLUMNS": "300"})
    assert (done.exit_code, msgspec.json.decode(done.stdout)) == (0, [{"n": len(places.log[FACTS]) - 1}])
    assert "not checked" in done.stderr and str(damaged) in done.stderr
    code, told = kuelog(*words, "--data", places.whole, "--unchecked")
    assert code == 2 and "always checked" in told


def test_an_archive_and_a_log_that_do_not_belong_together_are_told_apart(places: Places, tmp_path: Path) -> None:
    other, _ = played(small_day(1))
    asyncio.run(stored(tmp_path / "other", other))
    less = {name: found[:-3] for name, found in places.log.items()}
    asyncio.run(stored(tmp_path / "less", less))
    asyncio.run(stored(tmp_path / "nothing", {}))
    starts = {name: 1 if name == CONTROL else len(found) * 2 // 3 + 3 for name, found in places.log.items()}
    asyncio.run(stored(tmp_path / "late", places.log, starts))
    for archive, data, expected in (
        (places.archive, "other", "it belongs to another log"),
        (places.archive, "less", "goes up to 1, the log only to 0. Restore the log, or ask the archive alone"),
        (places.archive, "nothing", "holds less than its archive"),
        (places.early, "late", f"can't be read, the archive {places.early} ends at"),
        ("", "late", "its archive with --archive"),
        (places.archive, "nowhere", "holds no log"),
    ):
        source = ("--archive", archive) if archive else ()
        for words in (("replay", "--verify"), ("log", "show"), ("bill", "-o", "focus")):
            code, told = kuelog(*words, *source, "--data", str(tmp_path / data))
            assert code == 2 and expected in told and told.count("error:") == 1, (data, words, told)


def test_an_event_of_a_newer_version_is_named_from_the_archive_as_from_the_log(tmp_path: Path, places: Places) -> None:
    every = (("replay",), ("history", "workload/day/w28"), ("bill",), ("explain", "workload/day/w28"))
    # What an operator has said decides nothing but what is skipped, and what things cost.
    for stream, entry, questions in (
        (FACTS, places.log[FACTS][20], every),
        (CONTROL, places.log[CONTROL][0], (("bill",),)),
    ):
        changed = msgspec.structs.replace(entry, data=entry.data.replace(b'.v1"', b'.v9"', 1))
        entries = places.log[stream]
        log = {**places.log, stream: [*entries[: entry.sequence - 1], changed, *entries[entry.sequence :]]}
        url = str(tmp_path / stream)
        write_archive(log, evidence_of(log, KEY), url)
        for words in questions:
            code, told = kuelog(*words, "--archive", url)
            assert code == 2 and f"{stream} sequence {entry.sequence}" in told and "newer version" in told, (
                words,
                told,
            )


def test_a_snapshot_that_does_not_belong_is_refused(places: Places, tmp_path: Path) -> None:
    def taken(log: Log, name: str) -> Path:
        for partition, sequence in ((PARTITION, 30), (DEVICE_PARTITION, 9)):
            fold, _ = fold_partition(partition, point_at(log, f"{partition}/{sequence}").entries)
            Snapshots(tmp_path / name, RULES).take(fold)
        return tmp_path / name

    other, _ = played(small_day(1))
    strange, own = taken(other, "strange"), taken(places.log, "own")
    code, told = kuelog("replay", "--archive", places.archive, "--snapshot", str(strange))
    assert code == 2 and "it does not belong to this log" in told
    code, told = kuelog("replay", "--archive", places.archive, "--snapshot", str(own))
    assert code == 0 and f"{PARTITION}: {len(places.log[PARTITION]) - 30} commits behind the snapshot at 30" in told


async def test_an_archive_is_asked_where_it_lies_on_a_web_server(places: Places) -> None:
    site = web.Application()
    site.router.add_static("/", Path(places.archive).parent)
    async with TestServer(site) as server:
        url = str(server.make_url("/archive"))
        for words in (
            ("replay", "--verify"),
            ("audit", "query", "SELECT type, count(*) FROM events GROUP BY ALL ORDER BY ALL"),
        ):
            expected = await asyncio.to_thread(kuelog, *words, "--archive", places.archive)
            assert expected[0] == 0 and await asyncio.to_thread(kuelog, *words, "--archive", url) == expected
        told = await asyncio.to_thread(kuelog, "replay", "--archive", f"{url}s")
        assert told[0] == 2 and "it is no archive" in told[1]


def another_version(folder: Path, does: str) -> str:
    """A checkout of a kuelog that does just this, whatever it is asked."""
    code = folder / "ops" / "cli"
    code.mkdir(parents=True)
    for package in (code, code.parent):
        (package / "__init__.py").touch()
    (code / "main.py").write_text(f"def main():\n    {does}\n")
    return str(folder)


def test_another_version_that_knows_no_archives_is_told_as_such(places: Places, tmp_path: Path) -> None:
    old = another_version(tmp_path, "raise SystemExit('Error: No such option: --archive (Possible options: --data)')")
    code, told = kuelog("replay", "--rules", old, "--archive", places.archive)
    assert code == 2 and "that version knows no archives" in told


@pytest.mark.parametrize("word", ["lane", "partition"])
def test_another_version_is_understood_by_whichever_word_it_has_for_a_partition(
    places: Places, tmp_path: Path, word: str
) -> None:
    said = msgspec.json.encode([{word: PARTITION, "commits": 3, "verified": 3, "differences": []}]).decode()
    other = another_version(tmp_path, f"print({said!r})")
    assert kuelog("replay", "--rules", other, "--archive", places.archive) == (
        0,
        f"{PARTITION}: 0 of 3 commits would have been decided otherwise\n",
    )
    code, told = kuelog("replay", "--rules", other, "--archive", places.archive, "-o", "json")
    assert (code, [one["partition"] for one in msgspec.json.decode(told)]) == (0, [PARTITION])


def test_a_log_is_followed_on_a_bus_only(places: Places) -> None:
    code, told = kuelog("log", "show", "--follow", "--archive", places.archive)
    assert code == 2 and "nor does it grow" in told


async def test_a_log_that_was_begun_anew_is_followed_with_what_its_archive_has_quarantined(
    places: Places, tmp_path: Path
) -> None:
    server = NatsServer(tmp_path / "nats")
    await server.start()
    bus = await connect(server.url)
    await begin_streams(bus, {name: len(found) + 1 for name, found in places.log.items()})
    words = ("log", "show", "--follow", "--nats", server.url, "--archive", places.archive, "-o", "json")
    command = (sys.executable, "-m", "ops.cli.main", *words)
    # A runner in the background hands down that Ctrl-C is ignored.
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    line = asyncio.create_task(process.stdout.readline())
    facts, told = await bus.stream(FACTS), places.log[FACTS][0]
    # Whoever follows sees what comes once he is there, so something comes until he has seen it.
    for number in range(1000):
        await facts.publish([Message(told.subject, told.data, f"again-{number}")])
        if (await asyncio.wait({line}, timeout=0.2))[0]:
            break
    seen = msgspec.json.decode(line.result())
    assert seen["stream"] == FACTS and seen["sequence"] > len(places.log[FACTS])
    process.send_signal(signal.SIGINT)
    assert await process.wait() == 130
    await bus.close()
    await server.stop()


def test_an_audit_takes_archive_and_log_as_one(places: Places) -> None:
    evidence = str(Path(places.whole) / "witness")
    for data in (places.whole, places.behind, places.trimmed):
        code, told = kuelog(
            "audit", "verify", "--archive", places.early, "--data", data, "--witness", evidence, "-o", "json"
        )
        report = msgspec.json.decode(told)
        assert (code, report["findings"]) == (0, [])
        assert {one["stream"]: one["messages"] for one in report["streams"]} == {
            name: len(found) for name, found in places.log.items()
        }


def test_help_and_completion_know_archives() -> None:
    for words in (("replay",), ("history",), ("explain",), ("whatif",), ("bill",), ("log", "show"), ("devices",)):
        code, told = kuelog(*words, "--help")
        assert (
            code == 0
            and "--archive" in told
            and any("Example: kuelog" in line and "--archive" in line for line in told.splitlines())
        )
    done = CliRunner().invoke(
        app,
        [],
        env={"_KUELOG_COMPLETE": "complete_bash", "COMP_WORDS": "kuelog replay --arc", "COMP_CWORD": "2"},
        prog_name="kuelog",
    )
    assert "--archive" in done.output
