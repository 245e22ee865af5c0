"""Who may read what in the console: what Kubernetes lets them list, and not a name more, wherever they ask."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ops.console.changes import LogChanges
from ops.console.gate import AskersAccess
from ops.console.live import Live
from ops.console.log_lag import LogLag
from ops.console.recorded import Recordings
from ops.console.server import ConsoleApp
from ops.console.whatif import WhatIfs
from ops.queries.point import NotOnTheLog, point_at
from projections.explanation.redaction import HIDDEN
from services.runtime.cluster_port import ClusterUnavailable
from tests.ops.console.people import MINE, NAMESPACES, OTHERS, THEIRS, People, people
from tests.ops.console.served import PATIENCE_S, Console, middle, served

OF_CLUSTER = ("queues", "cards", "topology", "clusters", "log", "choices", "months")
ANYBODY = {"/", "/pages/{name}", "/healthz", "/livez", "/readyz"}
"""What holds nothing of the log."""
ASKED = {
    "/api/v1/session": ("",),
    "/api/v1/overview": ("", "?at={at}"),
    "/api/v1/queues": ("", "?at={at}"),
    "/api/v1/workloads": ("", "?at={at}", "?text=theirs", "?state=finished", "?at={at}&sort=-since"),
    "/api/v1/cards": ("", "?at={at}"),
    "/api/v1/topology": ("", "?at={at}"),
    "/api/v1/clusters": ("", "?at={at}"),
    "/api/v1/preemptions": ("", "?at={at}"),
    "/api/v1/bills": (
        "",
        "?at={at}",
        "?group-by=tenant,workload,job,local-queue",
        "?group-by=uid",
        "?group-by=workload&workload=mine/w0",
    ),
    "/api/v1/entries": ("", "?at={at}", "?queue=cq"),
    "/api/v1/budgets": ("", "?at={at}"),
    "/api/v1/months": ("", "?at={at}"),
    "/api/v1/gantt": ("", "?at={at}"),
    "/api/v1/log": ("", "?at={at}"),
    "/api/v1/time": ("", "?at={at}"),
    "/api/v1/differences": ("?at=LOG_0/5", "?at=LOG_0/5&with={at}", "?at={at}&with="),
    "/api/v1/workloads/{namespace}/{name}": ("", "?at={at}"),
    "/api/v1/changes": ("",),
    "/api/v1/choices": ("", "?at={at}"),
    "/api/v1/whatif": (),
    "/api/v1/whatif/{id}": (),
}
"""Every address below /api with the questions that are asked of it; the test fails for one that is not here."""
ASKED_ELSEWHERE = {"/api/v1/changes", "/api/v1/whatif", "/api/v1/whatif/{id}"}
"""What goes on or is begun: each has a test of its own."""


class Asked:
    """A console, and the people who ask it."""

    def __init__(self, console: Console, everybody: People) -> None:
        self.console, self.people = console, everybody
        self.at = middle(console.log)
        keys = sorted(point_keys(console.log))
        self.own = [key for key in keys if key.startswith(f"{MINE}/")]
        self.foreign = [key for key in keys if key not in self.own]
        names = {*(key.partition("/")[2] for key in self.foreign), THEIRS, OTHERS}
        self.names = re.compile(rf"(?<![\w-])(?:uid-)?(?:{'|'.join(map(re.escape, sorted(names)))})(?![\w-])")

    async def ask(self, who: str, path: str, **more: str) -> tuple[int, Any, Mapping[str, str]]:
        return await self.console.ask(path, **{**self.people.headers(who), **more})

    async def data(self, who: str, path: str) -> Any:
        status, plain, _ = await self.ask(who, f"/api/v1/{path}")
        assert status == 200, plain
        return plain["data"]

    def paths(self, template: str) -> list[str]:
        """The questions of an address, each about the own workloads as about the others'."""
        at = {"at": self.at}
        if "{namespace}" not in template:
            return [template + query.format(**at) for query in ASKED[template]]
        keys = [*self.own, *self.foreign, f"{MINE}/{self.foreign[0].partition('/')[2]}", f"{THEIRS}/nobody"]
        return [f"/api/v1/workloads/{key}{query.format(**at)}" for key in keys for query in ASKED[template]]


def point_keys(log: Any) -> set[str]:
    """Every workload of a log."""
    found: set[str] = set()
    for entries in point_at(log).entries.values():
        for entry in entries:
            found.update(re.findall(r'"workload":"([\w-]+/[\w-]+)"', entry.data.decode()))
    return found


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[Asked]:
    async with (
        people(tmp_path / "cluster") as everybody,
        served(tmp_path, access=everybody.access(), namespaces=NAMESPACES) as console,
    ):
        yield Asked(console, everybody)


def routes() -> set[str]:
    """The addresses of a console that asks for rights."""
    nothing: Any = None
    access = AskersAccess(identity=nothing, reviews=nothing, crowd=nothing)
    app = ConsoleApp(
        Live(nothing), Recordings(nothing), LogChanges(nothing, dict), WhatIfs(""), LogLag(nothing), access
    ).app()
    return {route.resource.canonical for route in app.router.routes() if route.resource is not None}


async def test_who_may_list_the_workloads_of_one_namespace_never_reads_the_name_of_another_s(asked: Asked) -> None:
    assert routes() == ANYBODY | ASKED.keys(), "every address is asked here, or holds nothing of the log"
    assert asked.own and asked.foreign
    for who in ("tenant", "viewer"):
        answered: set[str] = set()
        for template in sorted(ASKED.keys() - ASKED_ELSEWHERE):
            for path in asked.paths(template):
                status, plain, headers = await asked.ask(who, path)
                text = json.dumps([plain, dict(headers)])
                shown = asked.names.search(_without_what_is_asked(text, path, status))
                assert shown is None, (who, path, text[max(0, shown.start() - 200) : shown.end() + 100])
                if status == 200:
                    answered.add(template)
        closed = {f"/api/v1/{one}" for one in OF_CLUSTER} if who == "tenant" else set[str]()
        assert answered == ASKED.keys() - closed - ASKED_ELSEWHERE


def _without_what_is_asked(text: str, path: str, status: int) -> str:
    """A refusal without the name that was asked for: who asks for it knows it."""
    named = path.partition("/workloads/")[2].partition("?")[0]
    if status == 200 or not named:
        return text
    return text.replace(f"workload {named};", "").replace(f"in the namespace {named.partition('/')[0]}", "")


async def test_the_same_numbers_are_shown_with_others_names_left_out(asked: Asked) -> None:
    whole = await asked.data("operator", "workloads")
    own = await asked.data("tenant", "workloads")
    assert own["workloads"] == [row for row in whole["workloads"] if row["key"] in asked.own]
    assert own["total"] == len(asked.own) < whole["total"]
    assert (await asked.data("viewer", "queues")) == (await asked.data("operator", "queues"))
    cards, seen = (
        await asked.data("operator", f"cards?at={asked.at}"),
        await asked.data("viewer", f"cards?at={asked.at}"),
    )
    numbers = [[card["memory_used"], len(card["slices"])] for card in cards["cards"]]
    assert [[card["memory_used"], len(card["slices"])] for card in seen["cards"]] == numbers
    assert "another namespace's #" in json.dumps(seen)
    every, some = await asked.data("operator", "bills"), await asked.data("tenant", "bills")
    assert some["lines"] == [line for line in every["lines"] if line["tenant"] == MINE]
    assert some["cards"] is None and (await asked.data("viewer", "bills"))["cards"] == every["cards"]
    gantt = {who: (await asked.data(who, "gantt"))["entries"] for who in ("tenant", "viewer", "operator")}
    held = [[one["id"], one["since"], one["slice"]] for one in gantt["operator"]]
    assert [[one["id"], one["since"], one["slice"]] for one in gantt["viewer"]] == held
    assert gantt["tenant"] == [one for one in gantt["operator"] if one["holder"]["tenant"] == MINE] != []
    overview = await asked.data("tenant", "overview")
    assert (overview["usage"], overview["cards"]) == (None, None)
    assert (await asked.data("viewer", "overview"))["usage"] == (await asked.data("operator", "overview"))["usage"]
    for who, kinds in (("tenant", {"workloads"}), ("viewer", {"workloads", "queues", "usage", "cards"})):
        assert (await asked.data(who, "differences?at=LOG_0/5"))["kinds"].keys() == kinds
    life = await asked.data("operator", f"workloads/{asked.own[0]}")
    assert len((await asked.data("tenant", f"workloads/{asked.own[0]}"))["history"]) == len(life["history"])


async def test_who_is_not_known_or_may_read_nothing_is_told_so(asked: Asked) -> None:
    for template in ASKED.keys() - {"/api/v1/session"} - ASKED_ELSEWHERE | {"/api/v1/changes"}:
        for path in asked.paths(template)[:1]:
            status, plain, headers = await asked.ask("", path)
            assert status == 401 and headers["WWW-Authenticate"].startswith("Bearer"), path
            status, plain, _ = await asked.console.ask(path, Authorization="Bearer made-up")
            assert status == 401 and "does not know this token" in plain["message"]
    status, plain, _ = await asked.ask("tenant", "/api/v1/queues")
    assert status == 403 and "you may not list clusterqueues.kueue.x-k8s.io" in plain["message"]
    there, nowhere = f"/api/v1/workloads/{asked.foreign[0]}", f"/api/v1/workloads/{THEIRS}/nobody"
    for path in (there, nowhere):
        status, plain, _ = await asked.ask("tenant", path)
        assert status == 403 and "you may not list workloads.kueue.x-k8s.io in the namespace" in plain["message"]
    status, plain, _ = await asked.ask("tenant", f"/api/v1/bills?tenant={THEIRS}")
    assert status == 403
    for path in ("/", "/pages/app.js", "/healthz", "/readyz"):
        assert (await asked.ask("", path))[0] == 200
    status, plain, _ = await asked.ask("stranger", "/api/v1/workloads")
    assert status == 200 and plain["data"]["total"] == 0
    assert (await asked.ask("stranger", "/api/v1/session"))[1]["namespaces"] == []


async def test_a_refusal_names_nobody_either(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    status, plain, _ = await asked.ask("tenant", f"/api/v1/workloads/{MINE}/nobody")
    assert status == 404 and asked.own[0] in plain["message"] and HIDDEN not in plain["message"]

    def refused(*_words: Any, **_more: Any) -> Any:
        raise NotOnTheLog(f"{asked.foreign[0]} stands in the way")

    monkeypatch.setattr("ops.console.server.explained", refused)
    status, plain, _ = await asked.ask("tenant", f"/api/v1/workloads/{asked.own[0]}?at={asked.at}")
    assert (status, plain["message"]) == (404, f"{HIDDEN} #1 stands in the way")


async def test_what_somebody_plays_is_theirs_alone_and_names_nobody_else(asked: Asked) -> None:
    change = {"at": asked.at, "set": [f"workload/{asked.own[0]}:spec.priority=1000"]}

    async def post(who: str, sent: Any) -> tuple[int, Any]:
        headers = asked.people.headers(who)
        return (await asked.console.ask("/api/v1/whatif", "POST", sent=sent, **headers))[:2]

    assert (await post("", change))[0] == 401
    status, plain = await post("tenant", change)
    assert status == 403 and "clusterqueues" in plain["message"]
    for foreign in (
        f"workload/{asked.foreign[0]}",
        f"job/{asked.foreign[0]}",
        asked.foreign[0],
        f"workload/{THEIRS}/no",
    ):
        status, plain = await post("viewer", {"set": [f"{foreign}:spec.priority=1"]})
        assert status == 403 and "in the namespace" in plain["message"], foreign
        assert (await post("viewer", {"remove": [foreign]}))[0] == 403
    status, plain = await post("viewer", {**change, "remove": ["node/v100-0"]})
    assert status == 202
    path = f"/api/v1/whatif/{plain['id']}"
    assert (await asked.ask("operator", path))[0] == 404
    assert (await asked.console.ask(path, "DELETE", **asked.people.headers("operator")))[0] == 404
    async with asyncio.timeout(PATIENCE_S):
        while (found := await asked.ask("viewer", path))[1]["state"] == "running":  # noqa: ASYNC110 - only its answers tell
            await asyncio.sleep(0.05)
    told = json.dumps(found[1])
    assert found[1]["state"] == "done" and asked.names.search(told) is None
    assert found[1]["result"]["comparison"]["workloads"] > len(asked.own)


async def test_what_happens_is_told_of_ones_own_objects_alone_and_to_nobody_any_more_whose_token_is_gone(
    asked: Asked,
) -> None:
    seen = {"Last-Event-ID": "DEVICES_default/0,FACTS/0,LOG_0/0"}
    told: dict[str, set[str]] = {}
    async with aiohttp.ClientSession() as session:
        for who in ("tenant", "viewer", "operator"):
            url = f"http://127.0.0.1:{asked.console.port}/api/v1/changes"
            async with session.get(url, headers={**asked.people.headers(who), **seen}) as answer:
                text = ""
                while "data:" not in text:
                    text = (await answer.content.readline()).decode()
                found = json.loads(text.partition("data:")[2])
                told[who] = {name for one in found["changes"] for name in one["objects"]}
                assert (asked.names.search(text) is None) == (who != "operator")
                if who == "tenant":
                    account = ("serviceaccounts", ("people", "tenant"))
                    asked.people.cluster.store.remove(*account)
                    asked.people.time += 11
                    assert [line async for line in answer.content if line.startswith(b"data")] == []
    assert any(name.startswith(f"workload/{MINE}/") for name in told["tenant"])
    assert not any(name.startswith("clusterqueue/") for name in told["tenant"])
    assert any(name.startswith("clusterqueue/") for name in told["viewer"])
    assert told["tenant"] < told["viewer"] < told["operator"]


async def test_a_right_that_is_taken_away_counts_no_longer_after_ten_seconds(asked: Asked) -> None:
    path = f"/api/v1/workloads?at={asked.at}"
    status, plain, headers = await asked.ask("tenant", path)
    assert status == 200 and headers["Cache-Control"] == "private, no-cache"
    log = plain["as_of"]["log"]
    assert (await asked.ask("tenant", f"{path}&log={log}"))[2]["Cache-Control"] == "private, no-cache"
    assert (await asked.ask("tenant", path, **{"If-None-Match": headers["ETag"]}))[0] == 304
    assert (await asked.ask("operator", path, **{"If-None-Match": headers["ETag"]}))[0] == 200
    asked.people.cluster.store.remove("rolebindings.rbac.authorization.k8s.io", (MINE, "tenant-workloads"))
    asked.people.time += 11
    status, plain, _ = await asked.ask("tenant", path, **{"If-None-Match": headers["ETag"]})
    assert status == 200 and plain["data"]["workloads"] == []


async def test_an_answer_is_asked_for_once_by_many_and_nobody_reads_while_the_cluster_does_not_answer(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    request = asked.people.client.request

    async def counted(method: str, path: str, body: Any = None, **more: Any) -> Any:
        sent.append(path)
        return await request(method, path, body, **more)

    monkeypatch.setattr(asked.people.client, "request", counted)
    for _ in range(3):
        await asked.data("tenant", "workloads")
    reviews = 2 + len(NAMESPACES)
    assert len([path for path in sent if path.endswith("tokenreviews")]) == 1
    assert len([path for path in sent if path.endswith("subjectaccessreviews")]) == reviews
    asked.people.time += 11
    await asked.data("tenant", "workloads")
    # A no is good for a minute: of five answers one was yes.
    assert len([path for path in sent if path.endswith("subjectaccessreviews")]) == reviews + 1

    async def away(*_words: Any, **_more: Any) -> Any:
        raise ClusterUnavailable("away")

    monkeypatch.setattr(asked.people.client, "request", away)
    asked.people.time += 11
    assert (await asked.ask("tenant", "/api/v1/workloads"))[0] == 503
