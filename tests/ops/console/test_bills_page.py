"""What stands behind a bill on the console: its parts down to the log, budgets with their forecast, closed months with their proof."""

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from events.billing import Commitment, Discount, LineKind, Meter, MinimumCharge, Price, PriceListSet
from events.subjects import CONTROL
from ops.console.questions import OF_A_WORLD, OF_THE_LOG
from ops.console.rights import Forbidden, Rights
from ops.production.log.streams import PARTITION
from ops.queries.billing.drill_down import entries_answer
from ops.queries.point import point_at
from ops.queries.replay import fold_partition
from ops.sandbox.bench.day import BEGINS, played, small_day
from projections.billing.entries.entry import Window
from projections.billing.lines.charged_lines import BilledTo
from tests.ops.console.billed import MONTH, billed, operate
from tests.ops.console.browsing import THEMES, Browser, browsing, needs_browser, violations
from tests.ops.console.drawn import needs_node, shown
from tests.ops.console.people import MINE, NAMESPACES, OTHERS, THEIRS
from tests.ops.console.served import Console, served
from tests.ops.queries.billing.test_claimed_rows import HELD
from tests.projections.billing.claims.test_claim_time import CLAIM_GONE
from tests.projections.billing.claims.test_device_lines import LIST, told


@pytest.fixture
async def console(tmp_path: Path) -> AsyncIterator[Console]:
    async with served(tmp_path, log=billed()) as found:
        yield found


@pytest.fixture
async def browser(console: Console, tmp_path: Path) -> AsyncGenerator[Browser, None]:
    async with browsing(console, tmp_path / "browser") as found:
        yield found


async def test_a_bill_is_narrowed_to_an_account_a_queue_and_a_job_and_its_parts_come_to_the_whole(
    console: Console,
) -> None:
    async def total(asked: str) -> dict[str, str]:
        return (await console.answer(f"bills?from=2026-01&to=2026-02&{asked}"))["data"]["total"]

    assert await total("") == {"EUR": "4.00"}
    for asked in ("account=research", "tenant=lab", "tenant=team", "job=lab/lab-job", "queue=q&tenant=team"):
        assert await total(asked) == {"EUR": "2.00"}, asked
    assert await total("account=nobody") == await total("queue=other") == {}


async def test_entries_name_the_places_on_the_log_where_they_begin_and_end(console: Console) -> None:
    data = (await console.answer("entries?from=2026-01&to=2026-02&tenant=lab"))["data"]
    [one] = [one for one in data["entries"] if one["kind"] == "usage"]
    assert (one["job"], one["cost"], one["resource"], one["amount"]) == ("lab/lab-job", "2.00", "cpu", 1000)
    printed = await console.printed("bill", "entries", "--workload", "lab/lab-job")
    [same] = [entry for entry in printed if entry["id"] == one["id"]]
    assert one["began"]["place"] == f"{same['began']['partition']}/{same['began']['sequence']}"
    shown = await console.printed_lines("log", "show")
    stream, _, sequence = one["began"]["place"].partition("/")
    [event] = [line for line in shown if (line["stream"], str(line["sequence"])) == (stream, sequence)][:1]
    assert "lab/lab-job" in str(event)


async def test_budgets_are_those_that_the_command_line_tells_of_at_that_moment(console: Console) -> None:
    for at in ("2026-01-01T01:30:00Z", "2026-02-01T02:00:00Z"):
        data = (await console.answer(f"budgets?at={at}"))["data"]
        assert data["budgets"] == (await console.printed("budget", "list", "--at", at))["budgets"] != []


async def test_a_closed_month_is_shown_with_its_proof_and_calculated_again_on_demand(console: Console) -> None:
    [one] = (await console.answer("months"))["data"]["months"]
    [closed] = await console.printed("bill", "closed")
    assert {name: one[name] for name in closed if name != "type"} == {k: v for k, v in closed.items() if k != "type"}
    assert (one["month"], one["invoice"], one["place"], one["problem"]) == (MONTH, "2026-01-0001", "CONTROL/3", None)
    [again] = (await console.answer(f"months?check={MONTH}"))["data"]["months"]
    assert again["problem"] == ""
    status, body, _ = await console.ask("/api/v1/months?check=2026-02")
    assert status == 400 and "2026-02 is not closed" in str(body)


def test_a_month_that_the_log_does_not_come_to_any_more_says_so() -> None:
    log = {name: list(found) for name, found in billed().items()}
    closing = log["CONTROL"][2]
    data = closing.data.replace(b'"sha256":"', b'"sha256":"0', 1)
    log["CONTROL"][2] = type(closing)(
        stream=closing.stream,
        sequence=closing.sequence,
        subject=closing.subject,
        message_id=closing.message_id,
        data=data,
    )
    of: Any = SimpleNamespace(point=point_at(log, ""))
    [one] = OF_THE_LOG["months"].ask(of, {"check": MONTH}, Rights())["months"]
    assert "2026-01 was closed with the data set 0" in one["problem"]


def test_who_may_not_read_the_cluster_sees_neither_its_budgets_nor_its_months_and_of_entries_only_its_own() -> None:
    log = billed()
    fold, _ = fold_partition(PARTITION, log)
    of: Any = SimpleNamespace(world=lambda: fold.world, cards=lambda: SimpleNamespace(at=0), point=point_at(log, ""))
    mine = Rights(namespaces=frozenset({"lab"}), queues=False)
    assert OF_A_WORLD["budgets"].ask(of, {}, mine) == {"budgets": []}
    assert OF_A_WORLD["budgets"].ask(of, {}, Rights())["budgets"] != []
    with pytest.raises(Forbidden):
        OF_THE_LOG["months"].ask(of, {}, mine)
    assert {one["tenant"] for one in OF_THE_LOG["entries"].ask(of, {}, mine)["entries"]} == {"lab"}
    with pytest.raises(Forbidden):
        OF_THE_LOG["entries"].ask(of, {"tenant": "team"}, mine)


def test_a_bill_tells_who_reads_the_cluster_and_one_namespace_neither_who_the_others_are_nor_what_they_agreed_on() -> (
    None
):
    log = {CONTROL: [], **played(small_day(12, NAMESPACES))[0]}
    agreed = [(MINE, "1"), (THEIRS, "2"), (OTHERS, "3")]
    idle = Price(meter=Meter.IDLE, unit_price="5")
    prices = PriceListSet(
        name="p",
        currency="EUR",
        starts=BEGINS,
        prices=(idle, *(Price(meter=Meter.CARD, unit_price=price, tenant=name) for name, price in agreed)),
        charges=(LineKind.USAGE, LineKind.IDLE),
        discounts=(Discount(name="all", percent="1"), Discount(name="special", percent="9", account=THEIRS)),
        commitments=tuple(
            Commitment(name=f"c{price}", account=name, price=price, covers=price) for name, price in agreed
        ),
        minimums=tuple(MinimumCharge(account=name, amount=price) for name, price in agreed),
    )
    stage: Any = SimpleNamespace(entries=log)
    operate(stage, prices, BEGINS)
    of: Any = SimpleNamespace(point=point_at(log, ""))
    whole = OF_THE_LOG["bills"].ask(of, {}, Rights())
    told = OF_THE_LOG["bills"].ask(of, {}, Rights(namespaces=frozenset({MINE})))
    text = msgspec.json.encode(told).decode()
    assert THEIRS not in text and OTHERS not in text
    [list_of_all], [own] = whole["price_lists"], told["price_lists"]
    assert own["discounts"] == list(list_of_all["discounts"][:1]) and own["commitments"][0].account == MINE
    shares = [[share["cost"] for share in one["shares"]] for one in whole["unused"]]
    assert any(shares) and shares == [[share["cost"] for share in one["shares"]] for one in told["unused"]]
    assert MINE in {share["tenant"] for one in told["unused"] for share in one["shares"]}


@needs_node
def test_entries_of_devices_that_a_claim_has_say_which_claim_and_how_many(tmp_path: Path) -> None:
    data = entries_answer(told(LIST, *HELD, CLAIM_GONE), Window(0, 60_000), BilledTo())
    text = shown(tmp_path, "bills", "#/bills?part=entries", data)
    assert "2 device(s) of class a by claim team/c" in text and "null" not in text


@needs_browser
@pytest.mark.parametrize("theme", THEMES)
async def test_a_reader_walks_from_the_account_to_the_log_and_to_the_proof_of_the_month(
    console: Console, browser: Browser, theme: str
) -> None:
    [entry] = (await console.answer("entries?from=2026-01&to=2026-02&tenant=lab"))["data"]["entries"]
    text = "document.getElementById('main').textContent"

    async def shows(words: str) -> None:
        await browser.until(lambda: f"{text}.includes({words!r})")

    async def follow(words: str) -> None:
        link = f"[...document.querySelectorAll('#main a')].find(one => one.textContent === {words!r})"
        await browser.until(lambda: f"Boolean({link})")
        await browser.do(lambda one: one.execute_script(f"{link}.focus()"))
        await browser.press("\n")

    await browser.open("bills?from=2026-01&to=2026-02&group=account,cost-center")
    await follow("research")
    await shows("Only of account research")
    await follow("lab")
    await follow("q")
    await follow("lab/lab-job")
    await shows("1 entries from 2026-01-01T00:00:00Z")
    assert await violations(browser, theme) == []
    await browser.screenshot(f"bill-entries-{theme}")
    await follow(entry["began"]["place"])
    await browser.until(lambda: "document.querySelector('h1')?.textContent === 'Log'")
    await browser.open("bills?part=budgets")
    await shows("ClusterQueue/q")
    assert await violations(browser, theme) == []
    await browser.screenshot(f"bill-budgets-{theme}")
    await follow("Closed months")
    await shows("2026-01: invoice 2026-01-0001")
    await follow("Calculate it again from the log")
    await shows("The log still comes to just this data set.")
    assert await violations(browser, theme) == []
    await browser.screenshot(f"bill-months-{theme}")
    assert await browser.errors() == []
