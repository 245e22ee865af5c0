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
/** @type {Record<string, (entry: any) => string>} */
const LANES = {
  card: (entry) => `${entry.slice.node} ${entry.slice.card.uuid}`,
  queue: (entry) => entry.holder.cluster_queue || "no queue",
  node: (entry) => entry.slice.node,
};

/** @param {HTMLElement} main @param {import("./place.js").Place} at @param {AbortSignal} signal */
export async function show(main, at, signal) {
  const by = at.query.get("by") ?? "card";
  const load = async () => {
    const { data, as_of } = await ask("gantt", asOf(at.query), signal);
    main.replaceChildren(h("h1", {}, title), ...parts(data, by in LANES ? by : "card"));
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
    h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": `Who held cards, by ${by}` }, chart(data, by)),
    table(`The latest ${Math.min(LISTED, data.entries.length)} stretches as a table`, ["From", "For", "Card", "Holder", "Queue", "MiB", "Cores", "Ended by"],
      data.entries.slice(-LISTED).reverse().map((/** @type {any} */ one) => [moment(one.since), duration(one.until - one.since), LANES.card(one), holder(one), queueLink(one.holder.cluster_queue), one.slice.memory, one.slice.cores, one.ended ? one.ended.why : "goes on"]), ""),
  ];
}

/** @param {any} entry */
function holder(entry) {
  const key = entry.holder.workload;
  return entry.holder.attempt ? workloadLink(key) : key;
}

/** Lanes with rows enough that no two stretches of one row overlap. @param {any} data @param {string} by */
function chart(data, by) {
  /** @type {Map<string, any[][]>} */
  const lanes = new Map();
  for (const entry of [...data.entries].sort((one, other) => one.since - other.since)) {
    const name = LANES[by](entry);
    const rows = lanes.get(name) ?? [];
    const row = rows.find((found) => found[found.length - 1].until <= entry.since);
    if (row) row.push(entry);
    else rows.push([entry]);
    lanes.set(name, rows);
  }
  const tones = new Map([...new Set(data.entries.map((/** @type {any} */ one) => one.holder.workload))].sort().map((one, index) => [one, index % TONES]));
  const short = new Set(data.cut_short);
  const scale = (WIDTH - NAME) / Math.max(1, data.until - data.since);
  const across = (/** @type {number} */ at) => NAME + Math.round((at - data.since) * scale);
  let down = 0;
  const drawn = [...lanes].sort(([one], [other]) => (one < other ? -1 : 1)).flatMap(([name, rows]) => {
    const from = down;
    down += rows.length * LANE + 6;
    return [s("text", { class: "lane", x: 0, y: from + LANE - 3 }, name.length > 34 ? `${name.slice(0, 33)}…` : name, s("title", {}, name)),
      s("line", { class: "rule", x1: 0, x2: WIDTH, y1: down - 3, y2: down - 3 }),
      ...rows.flatMap((row, index) => row.flatMap((entry) => stretch(entry, tones.get(entry.holder.workload) ?? 0, from + index * LANE, across, short.has(entry.id))))];
  });
  const words = `${data.entries.length} stretches on ${lanes.size} lanes; the table below has the latest`;
  return s("svg", { class: "gantt", width: WIDTH, height: down, viewBox: `0 0 ${WIDTH} ${down}`, role: "img", "aria-label": words }, ...drawn);
}

/** @param {any} entry @param {number} tone @param {number} y @param {(at: number) => number} across @param {boolean} short */
function stretch(entry, tone, y, across, short) {
  const from = across(entry.since);
  const until = Math.max(from + 1, across(entry.until));
  const words = `${entry.holder.workload}: ${moment(entry.since)} to ${moment(entry.until)}, ${entry.slice.memory} MiB, ${entry.slice.cores} cores; ${short ? "cut short" : entry.ended ? entry.ended.why : "goes on"}`;
  return [s("rect", { class: `slice tone-${tone}`, x: from, y, width: until - from, height: LANE - 2 }, s("title", {}, words)),
    short ? s("line", { class: "cut", x1: until, x2: until, y1: y, y2: y + LANE - 2 }) : null];
}
