// @ts-check
// Time from left to right, cards or queues from top to bottom: who held what from when until when.

import { ask, asOf } from "./answers.js";
import { h, s, table } from "./dom.js";
import { duration, moment } from "./format.js";
import { queueLink, workloadLink } from "./names.js";
import { moved } from "./place.js";

export const title = "Gantt";

const WIDTH = 960;
const LANE = 14;
const NAME = 220;
const TONES = 8;
const LISTED = 200;
const GAP = 6;
/** Pixels above and below what is in view that are drawn as well. */
const BEYOND = 200;
/** @type {Record<string, (entry: any) => string>} */
const LANES = {
  card: (entry) => `${entry.slice.node} ${entry.slice.card.uuid}`,
  queue: (entry) => entry.holder.cluster_queue || "no queue",
  node: (entry) => entry.slice.node,
};

/** How far down somebody has gone; what comes meanwhile does not move them. */
let down = 0;

/** @param {HTMLElement} main @param {import("./place.js").Place} at @param {AbortSignal} signal */
export async function show(main, at, signal) {
  const by = at.query.get("by") ?? "card";
  const load = async () => {
    const { data, as_of } = await ask("gantt", asOf(at.query), signal);
    const focused = document.activeElement?.classList.contains("gantt-view");
    main.replaceChildren(h("h1", {}, title), ...parts(data, by in LANES ? by : "card"));
    const view = /** @type {HTMLElement | null} */ (main.querySelector(".gantt-view"));
    if (view) view.scrollTop = down;
    if (focused) view?.focus({ preventScroll: true });
    return { as_of, again: load, concerns: (/** @type {Set<string>} */ objects) => [...objects].some((one) => one.startsWith("workload/")) };
  };
  return load();
}

/** @param {any} data @param {string} by */
function parts(data, by) {
  const choice = h("p", {}, "By ", Object.keys(LANES).map((one) => [h("a", { href: moved({ by: one }), "aria-current": one === by ? "true" : undefined }, one), " "]).flat());
  if (!data.entries.length) return [choice, h("p", { class: "empty" }, "Nobody has held a card so far. A stretch appears here when a workload gets cards.")];
  return [
    choice,
    h("p", {}, `${data.entries.length} stretch(es) from ${moment(data.since)} to ${moment(data.until)}; one that was cut short has a thick end${data.left_out ? `; ${data.left_out} earlier ones are left out` : ""}`),
    chart(data, by),
    table(`The latest ${Math.min(LISTED, data.entries.length)} stretches as a table`, ["From", "For", "Card", "Holder", "Queue", "MiB", "Cores", "Ended by"],
      data.entries.slice(-LISTED).reverse().map((/** @type {any} */ one) => [moment(one.since), duration(one.until - one.since), LANES.card(one), holder(one), queueLink(one.holder.cluster_queue), one.slice.memory, one.slice.cores, one.ended ? one.ended.why : "goes on"]), ""),
  ];
}

/** @param {any} entry */
function holder(entry) {
  const key = entry.holder.workload;
  return entry.holder.attempt ? workloadLink(key) : key;
}

/** @typedef {{name: string, rows: any[][], from: number, height: number}} Lane */

/** Lanes one below the other, by name, each with rows enough that no two stretches of one row overlap. @param {any[]} entries @param {string} by @returns {Lane[]} */
function lanesOf(entries, by) {
  /** @type {Map<string, any[][]>} */
  const lanes = new Map();
  for (const entry of [...entries].sort((one, other) => one.since - other.since)) {
    const name = LANES[by](entry);
    const rows = lanes.get(name) ?? [];
    const row = rows.find((found) => found[found.length - 1].until <= entry.since);
    if (row) row.push(entry);
    else rows.push([entry]);
    lanes.set(name, rows);
  }
  let from = 0;
  return [...lanes].sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, rows]) => {
    const lane = { name, rows, from, height: rows.length * LANE + GAP };
    from += lane.height;
    return lane;
  });
}

/** All lanes to scale, of which only those in view are drawn. @param {any} data @param {string} by */
function chart(data, by) {
  const lanes = lanesOf(data.entries, by);
  const tones = new Map([...new Set(data.entries.map((/** @type {any} */ one) => one.holder.workload))].sort().map((one, index) => [one, index % TONES]));
  const short = new Set(data.cut_short);
  const scale = (WIDTH - NAME) / Math.max(1, data.until - data.since);
  const across = (/** @type {number} */ at) => NAME + Math.round((at - data.since) * scale);
  const last = lanes[lanes.length - 1];
  const height = last.from + last.height;
  const words = `${data.entries.length} stretches on ${lanes.length} lanes; the table below has the latest`;
  const picture = s("svg", { class: "gantt", width: WIDTH, role: "img", "aria-label": words });
  const inner = h("div", { class: "gantt-lanes" }, picture);
  inner.style.height = `${height}px`;
  const view = h("div", { class: "scrolls gantt-view", tabindex: 0, role: "region", "aria-label": `Who held cards, by ${by}` }, inner);
  const draw = () => {
    const [top, end] = [view.scrollTop - BEYOND, view.scrollTop + view.clientHeight + BEYOND];
    const seen = lanes.slice(firstBelow(lanes, top), firstBelow(lanes, end) + 1);
    const start = seen[0].from;
    const deep = seen[seen.length - 1].from + seen[seen.length - 1].height - start;
    for (const [name, value] of Object.entries({ height: deep, viewBox: `0 ${start} ${WIDTH} ${deep}` })) picture.setAttribute(name, String(value));
    /** @type {SVGElement} */ (picture).style.top = `${start}px`;
    picture.replaceChildren(...seen.flatMap((lane) => lined(lane, top, end, (entry, y) => stretch(entry, tones.get(entry.holder.workload) ?? 0, y, across, short.has(entry.id)), across)));
  };
  let waits = false;
  view.addEventListener("scroll", () => {
    down = view.scrollTop;
    if (!waits) requestAnimationFrame(() => { waits = false; draw(); });
    waits = true;
  });
  // It is drawn when it is laid out, and again when its size changes.
  new ResizeObserver(draw).observe(view);
  return view;
}

/** The index of the first lane that reaches below a line; of the last where none does. @param {Lane[]} lanes @param {number} line */
function firstBelow(lanes, line) {
  let [low, high] = [0, lanes.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lanes[middle].from + lanes[middle].height <= line) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A lane with those of its rows that are in view. @param {Lane} lane @param {number} top @param {number} end @param {(entry: any, y: number) => unknown[]} drawn @param {(at: number) => number} across */
function lined(lane, top, end, drawn, across) {
  const from = Math.max(0, Math.floor((top - lane.from) / LANE));
  const rows = lane.rows.slice(from, Math.max(from, Math.ceil((end - lane.from) / LANE)));
  const below = lane.from + lane.height - 3;
  const name = lane.name.length > 34 ? `${lane.name.slice(0, 33)}…` : lane.name;
  return /** @type {Element[]} */ ([
    s("text", { class: "lane", x: 0, y: lane.from + (rows.length ? from * LANE : 0) + LANE - 3 }, name, s("title", {}, lane.name)),
    s("line", { class: "rule", x1: 0, x2: WIDTH, y1: below, y2: below }),
    ...rows.flatMap((row, index) => apart(row, across).flatMap((entry) => drawn(entry, lane.from + (from + index) * LANE))),
  ].filter(Boolean));
}

/** The stretches of a row that end on a pixel of their own: of many within one pixel the first is drawn. @param {any[]} row @param {(at: number) => number} across */
function apart(row, across) {
  let until = -1;
  return row.filter((entry) => {
    const end = Math.max(across(entry.since) + 1, across(entry.until));
    const seen = end > until;
    until = Math.max(until, end);
    return seen;
  });
}

/** @param {any} entry @param {number} tone @param {number} y @param {(at: number) => number} across @param {boolean} short */
function stretch(entry, tone, y, across, short) {
  const from = across(entry.since);
  const until = Math.max(from + 1, across(entry.until));
  const words = `${entry.holder.workload}: ${moment(entry.since)} to ${moment(entry.until)}, ${entry.slice.memory} MiB, ${entry.slice.cores} cores; ${short ? "cut short" : entry.ended ? entry.ended.why : "goes on"}`;
  return [s("rect", { class: `slice tone-${tone}`, x: from, y, width: until - from, height: LANE - 2 }, s("title", {}, words)),
    short ? s("line", { class: "cut", x1: until, x2: until, y1: y, y2: y + LANE - 2 }) : null];
}
