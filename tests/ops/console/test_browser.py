"""The pages in a real browser: every one is drawn without an error, by keyboard, in both themes, and at any moment."""

from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from events.timestamp import format_timestamp
from ops.sandbox.bench.day import BEGINS
from tests.ops.console.browsing import PAGES, THEMES, Browser, browsing, keys, needs_browser, violations
from tests.ops.console.people import MINE, NAMESPACES, People, people
from tests.ops.console.racks import racks
from tests.ops.console.served import Console, middle, served

pytestmark = needs_browser


@pytest.fixture
async def browser(console: Console, tmp_path: Path) -> AsyncGenerator[Browser, None]:
    async with browsing(console, tmp_path / "browser") as found:
        yield found


async def test_every_page_is_drawn_live_and_at_a_moment_in_both_themes_without_an_error(browser: Browser) -> None:
    grounds = set[str]()
    for page in PAGES:
        for query in ("", f"?at={middle(browser.console.log)}", "?at=LOG_0/40&with=LOG_0/20"):
            await browser.open(f"{page}{query}")
            assert await browser.ask("document.querySelector('#main .problem[role=alert]') === null")
        await browser.do(lambda one: one.find_element("id", "theme").click())
        await browser.screenshot(page.replace("/", "-"))
        grounds.add(await browser.ask("getComputedStyle(document.body).backgroundColor"))
    await browser.until(lambda: "document.querySelector('#differences h2') !== null")
    assert len(grounds) == 2
    assert await browser.errors() == []


async def test_the_page_of_a_moment_shows_the_numbers_that_the_command_line_prints_of_it(browser: Browser) -> None:
    at = middle(browser.console.log)
    await browser.open(f"workloads?at={at}")
    printed = await browser.console.printed("replay", "--until", at, "--show", "workloads")
    await browser.until(lambda: f"document.querySelectorAll('.virtual .row').length === {len(printed['workloads'])}")
    rows = await browser.ask(
        "[...document.querySelectorAll('.virtual .row')].map(row => [...row.children].map(cell => cell.textContent))"
    )
    expected = [
        [one["key"], one["queue"], one["cluster_queue"], str(one["priority"])]
        + [": ".join(filter(None, (one["state"], one["reason"])))]
        for one in printed["workloads"]
    ]
    assert [row[:5] for row in rows] == expected


async def test_the_slider_moves_through_time_and_the_address_keeps_the_moment(browser: Browser) -> None:
    await browser.open("queues")
    await browser.until(lambda: "document.querySelector('#strip rect') !== null")
    live = await browser.ask("document.getElementById('main').textContent")
    await browser.do(lambda one: one.find_element("id", "slider").send_keys(keys.HOME))
    await browser.until(lambda: "location.hash.includes('at=2026-01-01')")
    await browser.until(lambda: "document.getElementById('as-of').textContent.startsWith('The past')")
    assert await browser.ask("document.getElementById('main').textContent") != live
    await browser.do(lambda one: one.find_element("id", "slider").send_keys(keys.END))
    await browser.until(lambda: "!location.hash.includes('at=')")
    await browser.until(lambda: f"document.getElementById('main').textContent === {live!r}")
    await browser.do(lambda one: one.find_element("id", "play").click())
    await browser.until(lambda: "location.hash.includes('at=2026-01-01')")
    first = await browser.ask("location.hash")
    await browser.until(lambda: f"location.hash !== {first!r}")
    assert await browser.errors() == []


async def test_a_moment_that_the_log_does_not_reach_says_so_in_place_of_an_older_page(browser: Browser) -> None:
    await browser.open("queues")
    await browser.do(lambda one: one.find_element("id", "at").send_keys(f"LOG_0/999{keys.ENTER}"))
    await browser.until(lambda: "document.querySelector('#main [role=alert]') !== null")
    assert "has no sequence 999" in await browser.ask("document.getElementById('main').textContent")
    assert await browser.ask("document.getElementById('as-of').textContent") == "There is no answer as of LOG_0/999."


async def test_a_number_is_changed_played_and_both_outcomes_stand_side_by_side(browser: Browser) -> None:
    at = middle(browser.console.log)
    await browser.open(f"whatif?at={at}")
    await browser.do(lambda one: one.find_element("id", "whatif-amount").clear())
    await browser.do(lambda one: one.find_element("id", "whatif-amount").send_keys(f"100{keys.ENTER}"))
    await browser.until(lambda: "document.querySelectorAll('.changes li').length === 1")
    await browser.do(lambda one: one.find_element("id", "whatif-more").send_keys(keys.ENTER))
    await browser.until(lambda: "document.querySelectorAll('.changes li').length === 2")
    await browser.do(lambda one: one.find_element("id", "run").click())
    await browser.until(lambda: "[...document.querySelectorAll('h2')].some(one => one.textContent === 'Both outcomes')")
    query = await browser.ask("location.hash.split('?')[1]")
    asked = parse_qs(query)
    words = [word for name in ("set", "more") for text in asked[name] for word in (f"--{name}", text)]
    printed = await browser.console.printed("whatif", "--at", at, *words)
    told = await browser.ask("document.querySelector('#outcome [role=status]').textContent")
    assert f"{printed['gain']} of {printed['workloads']} workloads get in earlier, {printed['lose']} later" in told
    await browser.do(lambda one: one.refresh())
    await browser.until(lambda: f"document.querySelector('#outcome [role=status]')?.textContent === {told!r}")
    assert await browser.errors() == []


async def test_all_can_be_done_with_the_keyboard(browser: Browser) -> None:
    await browser.open("overview")
    await browser.press("gw")
    await browser.until(lambda: "document.querySelectorAll('.virtual [data-row]').length > 1")
    await browser.press("j")
    assert await browser.ask("document.activeElement.matches('[data-row]')")
    await browser.press(keys.ENTER)
    await browser.until(lambda: "[...document.querySelectorAll('h2')].some(one => one.textContent === 'Life')")
    await browser.until(lambda: "document.querySelector('#cost ~ .scrolls, #cost ~ .empty') !== null")
    await browser.screenshot("workload")
    await browser.press("t")
    await browser.press(f"LOG_0/90{keys.ENTER}")
    await browser.until(lambda: "location.hash.includes('at=LOG_0%2F90')")
    await browser.until(lambda: "document.getElementById('as-of').textContent.startsWith('The past')")
    await browser.do(lambda one: one.execute_script("document.activeElement.blur()"))
    await browser.press("c")
    await browser.until(lambda: "document.querySelector('#differences h2') !== null")
    await browser.press("l")
    await browser.until(lambda: "!location.hash.includes('at=')")
    await browser.press("?")
    await browser.until(lambda: "document.getElementById('help').open")
    assert await browser.errors() == []


async def test_a_table_of_ten_thousand_rows_shows_some_and_more_by_key(browser: Browser) -> None:
    await browser.open("preemptions")
    await browser.do(
        lambda one: one.execute_async_script(
            "const done = arguments[0]; import('/pages/dom.js').then(({table}) => {"
            "const rows = Array.from({length: 10000}, (_, index) => [index, `row ${index}`]);"
            "document.getElementById('main').replaceChildren(table('Many', ['Number', 'Name'], rows, '')); done(); })"
        )
    )
    assert await browser.ask("document.querySelectorAll('tbody tr').length") == 500
    assert await browser.ask("document.querySelector('.counts').textContent") == "500 of 10000 rows Show 500 more"
    await browser.do(lambda one: one.execute_script("document.querySelector('.counts button').focus()"))
    for count in (1000, 1500):
        await browser.press(keys.ENTER)
        assert await browser.ask("document.querySelectorAll('tbody tr').length") == count
        assert await browser.ask("document.activeElement.textContent") == "Show 500 more"
    assert await browser.errors() == []


@pytest.fixture
async def strangers_browser(tmp_path: Path) -> AsyncGenerator[tuple[Browser, People], None]:
    async with (
        people(tmp_path / "cluster") as everybody,
        served(tmp_path, access=everybody.access(), namespaces=NAMESPACES) as console,
        browsing(console, tmp_path / "browser") as browser,
    ):
        yield browser, everybody


async def test_somebody_signs_in_is_shown_what_is_theirs_and_signs_out(
    strangers_browser: tuple[Browser, People],
) -> None:
    browser, everybody = strangers_browser
    await browser.do(lambda one: one.get(f"http://127.0.0.1:{browser.console.port}/#/workloads"))
    await browser.until(lambda: "document.activeElement.id === 'token'")
    await browser.press(f"made-up{keys.ENTER}")
    await browser.until(lambda: "document.querySelector('[role=alert]').textContent.includes('does not know')")
    assert [one for one in await browser.errors() if "401" not in one] == []
    await browser.do(lambda one: one.execute_script("document.getElementById('token').value = ''"))
    await browser.press(f"{everybody.tokens['tenant']}{keys.ENTER}")
    await browser.until(lambda: "document.querySelectorAll('.virtual [data-row]').length > 1")
    names = await browser.ask("[...document.querySelectorAll('.virtual [data-row]')].map(row => row.textContent)")
    assert all(name.startswith(f"{MINE}/") for name in names)
    assert f"workloads of {MINE}" in await browser.ask("document.getElementById('who').textContent")
    assert await browser.ask("document.getElementById('nav').textContent") == "OverviewWorkloadsGanttPreemptionsBills"
    for page in ("overview", "gantt", "preemptions", "bills"):
        await browser.open(f"{page}?at={middle(browser.console.log)}")
        assert await browser.ask("document.querySelector('#main .problem[role=alert]') === null")
    assert await browser.ask("document.cookie + JSON.stringify({...localStorage, ...sessionStorage})") == (
        '{"kuelog.theme":"system"}'
    )
    assert await browser.errors() == []
    await browser.do(lambda one: one.find_element("id", "leave").click())
    await browser.until(lambda: "document.activeElement.id === 'token'")


@pytest.fixture
async def racked_browser(tmp_path: Path) -> AsyncGenerator[Browser, None]:
    async with served(tmp_path, log=racks()) as console, browsing(console, tmp_path / "browser") as browser:
        yield browser


async def test_boxes_of_a_topology_are_opened_by_key_and_show_where_a_workload_stands(racked_browser: Browser) -> None:
    browser, at = racked_browser, format_timestamp(BEGINS + 2000)
    await browser.open(f"topology?at={at}")
    assert await browser.ask("document.querySelectorAll('.host').length") == 4
    await browser.press("/")
    await browser.press(f"team/wide{keys.ENTER}")
    await browser.until(lambda: "document.querySelectorAll('.host.held').length === 2")
    assert "team/wide stands in rack-" in await browser.ask("document.querySelector('#main [role=status]').textContent")
    await browser.screenshot("topology-highlighted")
    await browser.do(lambda one: one.execute_script("document.querySelector('summary').focus()"))
    await browser.press(keys.ENTER)
    await browser.until(lambda: "!document.querySelector('details.domain').open")
    await browser.do(lambda one: one.find_element("id", "live").click())
    await browser.until(lambda: "document.querySelector('#main .problem')?.textContent === 'host-3: it is not ready'")
    assert await browser.errors() == []


async def test_the_page_of_a_workload_shows_which_domains_come_nearest(racked_browser: Browser) -> None:
    browser = racked_browser
    await browser.open("workloads/team/many")
    await browser.until(lambda: "document.body.textContent.includes('Domains that come nearest')")
    assert "pods: enough for 8, 3 missing" in await browser.ask("document.querySelector('#main').textContent")
    for theme in THEMES:
        assert await violations(browser, theme) == []
    assert await browser.errors() == []


async def test_what_is_borrowed_is_drawn_as_flows_and_said_in_words(racked_browser: Browser) -> None:
    browser = racked_browser
    await browser.open(f"queues?at={format_timestamp(BEGINS + 1000)}")
    said = await browser.ask("document.querySelector('.flow').textContent")
    assert "4 cpu of racked are borrowed in cohort team" in said
    assert "left borrows 4" in said and "right lends 4" in said
    assert await browser.ask("document.querySelectorAll('.flow path').length") == 2
    await browser.screenshot("queues-borrowing")
    for theme in THEMES:
        for page in (f"queues?at={format_timestamp(BEGINS + 1000)}", "topology?workload=team/wide"):
            await browser.open(page)
            assert await violations(browser, theme) == [], page
    assert await browser.errors() == []


@pytest.mark.parametrize("theme", THEMES)
async def test_axe_finds_nothing_that_keeps_people_from_reading_a_page(browser: Browser, theme: str) -> None:
    for page in PAGES:
        await browser.open(page)
        assert await violations(browser, theme) == [], page
        await browser.open(f"{page}?at=LOG_0/40&with=LOG_0/20")
        await browser.until(lambda: "document.querySelector('#differences h2') !== null")
        assert await violations(browser, theme) == [], page
    await browser.press("?")
    await browser.until(lambda: "document.getElementById('help').open")
    assert await violations(browser, theme) == []
