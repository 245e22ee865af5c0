// @ts-check
// Puts the parts together: the page of the address, its moment, and what keeps it up to date.

import { Refused, SignedOut } from "./answers.js";
import { listen } from "./changes.js";
import { h } from "./dom.js";
import { moment } from "./format.js";
import { bind } from "./keys.js";
import { address, moved, place } from "./place.js";
import { differ } from "./differences.js";
import { showSignIn, showWho, whoLooks } from "./session.js";
import { bindTime, compare, measure, played, showTime } from "./time.js";
import * as bills from "./bills.js";
import * as cards from "./cards.js";
import * as clusters from "./clusters.js";
import * as gantt from "./gantt.js";
import * as log from "./log.js";
import * as overview from "./overview.js";
import * as preemptions from "./preemptions.js";
import * as queues from "./queues.js";
import * as topology from "./topology.js";
import * as whatif from "./whatif.js";
import * as workload from "./workload.js";
import * as workloads from "./workloads.js";

/** @typedef {{title: string, show: (main: HTMLElement, at: import("./place.js").Place, signal: AbortSignal) => Promise<Shown>}} Page */
/** @typedef {{as_of: {at: number, sequences: Record<string, number>, live: boolean, halted?: string, behind?: {messages: number, seconds: number} | null}, again?: () => Promise<Shown>, concerns?: (objects: Set<string>) => boolean}} Shown */

/** @type {Record<string, Page>} */
const PAGES = { overview, queues, workloads, cards, topology, clusters, gantt, preemptions, bills, whatif, log };
const OF_CLUSTER = ["queues", "cards", "topology", "clusters", "whatif", "log"];
const AT_MOST_MS = 250;
const RESTS = 3;
const MEASURED_MS = 10000;
/** Less is what every log is behind for a moment. */
const LATE_S = 5;
const main = element("main");
const asOfLine = element("as-of");
let current = new AbortController();
/** @type {Shown | undefined} */
let shown;
let paused = false;
let waiting = false;
let pending = 0;
/** How long the last answer took: who waits long for one asks less often. */
let took = 0;
/** How far the log had gone when it was last heard of. @type {Record<string, number>} */
let heard = {};
/** Whether queues, cards and the log are shown. */
let wholeCluster = true;

/** @param {string} id */
function element(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

async function show() {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const at = place();
  const page = at.page === "workloads" && at.rest.length === 2 ? workload : PAGES[at.page];
  navigation(at.page);
  /** @type {HTMLInputElement} */ (element("at")).value = at.query.get("at") ?? "";
  shown = undefined;
  if (!page) {
    main.replaceChildren(h("p", { class: "problem", role: "alert" }, "There is no such page."), h("p", {}, h("a", { class: "back", href: address("overview") }, "Overview")));
    return;
  }
  document.title = `${page.title} · kuelog`;
  element("compare").setAttribute("aria-pressed", String(at.query.has("with")));
  await attempt(() => page.show(main, at, signal), signal);
  await attempt(async () => { await differ(element("differences"), at, signal); return shown; }, signal, element("differences"));
  played();
}

/** @param {() => Promise<Shown | undefined>} load @param {AbortSignal} signal @param {HTMLElement} where */
async function attempt(load, signal, where = main) {
  try {
    const found = await load();
    if (signal.aborted) return;
    shown = found;
    showAsOf();
  } catch (problem) {
    if (signal.aborted) return;
    if (problem instanceof SignedOut) location.reload();
    else if (problem instanceof Refused) {
      where.replaceChildren(h("p", { class: "problem", role: "alert" }, problem.message), h("p", {}, wayOut()));
      if (where === main) {
        asOfLine.className = "past";
        asOfLine.textContent = `There is no answer as of ${place().query.get("at") || "now"}.`;
      }
    }
    else offline();
  }
}

/** Where to go from a page that can't be shown as it was asked for. */
function wayOut() {
  const { page, rest, query } = place();
  if (query.get("at") || query.get("with")) return h("a", { class: "back", href: moved({ at: "", with: "" }) }, "Show it live");
  return rest.length ? h("a", { class: "back", href: address(page) }, `All ${page}`) : h("a", { class: "back", href: `#/${page}` }, "Show it without a filter");
}

function showAsOf() {
  if (!shown) return;
  const { at, sequences, live, halted, behind } = shown.as_of;
  const where = Object.entries(sequences).map(([name, last]) => `${name} ${last}`).join(", ");
  const late = behind && behind.seconds >= LATE_S ? `Behind the log: ${behind.messages} messages are not folded, the oldest stored ${behind.seconds} s ago. ` : "";
  asOfLine.className = halted || late ? "halted" : live ? (paused ? "past" : "") : "past";
  const word = halted ? `Nothing more is folded: ${halted}. ` : live ? (paused ? "Paused. " : "") : "The past. ";
  showTime(at, live);
  asOfLine.textContent = `${word}${late}As of ${moment(at)}, ${where}`;
}

function offline() {
  asOfLine.className = "halted";
  asOfLine.textContent = "The console can't be reached. What is shown is what was known last; it is asked again by itself.";
}

/** @param {string} name */
function navigation(name) {
  const shownTo = Object.entries(PAGES).filter(([key]) => wholeCluster || !OF_CLUSTER.includes(key));
  element("nav").replaceChildren(...shownTo.map(([key, page]) =>
    h("a", { href: address(key), "aria-current": key === name ? "page" : undefined }, page.title)));
}

/** Show again what is in view, at most four times a second and a quarter of the time, and never two at once. */
function refresh() {
  if (paused || place().query.get("at") || waiting) return;
  waiting = true;
  clearTimeout(pending);
  pending = window.setTimeout(async () => {
    const { signal } = current;
    const again = shown?.again;
    const begun = performance.now();
    if (again) await attempt(again, signal);
    else if (!shown) await show();
    took = performance.now() - begun;
    waiting = false;
    // What has happened while it was asked is asked for once more.
    if (shown && Object.entries(heard).some(([name, last]) => (shown?.as_of.sequences[name] ?? last) < last)) refresh();
  }, Math.max(AT_MOST_MS, RESTS * took));
}

/** @param {boolean} value */
function pause(value) {
  paused = value;
  element("pause").setAttribute("aria-pressed", String(value));
  if (!value) refresh();
  showAsOf();
}

const THEMES = ["system", "light", "dark"];

/** @param {string} theme */
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  element("theme").textContent = `Theme: ${theme}`;
  localStorage.setItem("kuelog.theme", theme);
}

element("time").addEventListener("submit", (event) => {
  event.preventDefault();
  location.hash = moved({ at: /** @type {HTMLInputElement} */ (element("at")).value.trim() });
});
element("live").addEventListener("click", () => { location.hash = moved({ at: "" }); });
element("pause").addEventListener("click", () => pause(!paused));
element("theme").addEventListener("click", () => setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "system") + 1) % THEMES.length]));
const chosen = localStorage.getItem("kuelog.theme") ?? "system";
setTheme(THEMES.includes(chosen) ? chosen : "system");
bindTime();
bind({ compare, live: () => { location.hash = moved({ at: "" }); }, pause: () => pause(!paused) });

function begin() {
  window.addEventListener("hashchange", () => void show());
  listen({
    changed: (objects, upto) => { if (!shown?.concerns || shown.concerns(objects)) { heard = upto; refresh(); } },
    anew: refresh,
    heard: (fine) => { if (!fine) offline(); else if (asOfLine.className === "halted") refresh(); },
  });
  const measured = () => measure().catch(() => undefined).then(showAsOf);
  // A fold that stands still or is behind tells of nothing that happens: it is asked all the same.
  window.setInterval(() => { if (!paused) { void measured(); refresh(); } }, MEASURED_MS);
  void measured();
  void show();
}

async function enter() {
  try {
    const said = await whoLooks();
    wholeCluster = said.queues;
    showWho(element("who"), said);
    if (said.reviewed && !said.user) showSignIn(main, said);
    else begin();
  } catch {
    offline();
    window.setTimeout(() => void enter(), MEASURED_MS);
  }
}

void enter();
