// @ts-check
// Two outcomes side by side: the same figure of both, with a bar each, so that a difference is seen before it is read.

import { h, s, table } from "./dom.js";
import { duration } from "./format.js";

const WIDTH = 160;
const HEIGHT = 8;

/** @param {any} it */
export function compared(it) {
  return [
    h("h3", {}, "In all"), totals(it),
    h("h3", {}, "Waiting for the first admission"),
    table("How long workloads wait by queue and class", ["Queue", "Class", "Workloads", "Half wait less than", "", "95 of 100 wait less than", "", "Recorded", "Earlier", "Later"],
      it.waits.map((/** @type {any} */ row) => [row.queue, row.kind, row.workloads,
        both(row.p50_before, row.p50_after, duration), pair(row.p50_before, row.p50_after, longest(it.waits, "p50")),
        both(row.p95_before, row.p95_after, duration), pair(row.p95_before, row.p95_after, longest(it.waits, "p95")),
        row.p50_recorded === null ? "" : duration(row.p50_recorded), row.gain, row.lose]), "Nobody waits."),
    h("h3", {}, "Used on average"),
    table("What each queue uses of each resource on average", ["Queue", "Flavor", "Resource", "Use", ""],
      it.use.map((/** @type {any} */ row) => [row.queue, row.flavor, row.resource, both(row.before, row.after, thousandths), pair(row.before, row.after, Math.max(row.before, row.after))]), "Nothing is used."),
  ];
}

/** @param {any} it */
function totals(it) {
  const rows = [
    ["Never admitted", it.waiting_before, it.waiting_after, String],
    ["Preemptions", it.preemptions_before, it.preemptions_after, String],
    ["All is over after", it.ended_before - it.began, it.ended_after - it.began, duration],
  ];
  return table("Figures of both runs", ["", "As it was", "Changed", "", "Who preempts whom, as it was", "Changed"],
    rows.map(([name, before, after, words], index) => [name, words(before), words(after), pair(before, after, Math.max(before, after)),
      index === 1 ? pairs(it.preempted_before) : "", index === 1 ? pairs(it.preempted_after) : ""]), "");
}

/** @param {[string, string, number][]} found */
function pairs(found) {
  return found.map(([victim, preemptor, count]) => `${preemptor || "somebody"} preempts ${count} of ${victim}`).join("; ");
}

/** @param {any[]} rows @param {string} name */
const longest = (rows, name) => Math.max(...rows.map((row) => Math.max(row[`${name}_before`], row[`${name}_after`])));

/** @param {number} before @param {number} after @param {(value: number) => string} words */
function both(before, after, words) {
  return before === after ? words(before) : `${words(before)} → ${words(after)}`;
}

/** A bar of each, as it was above. @param {number} before @param {number} after @param {number} most */
function pair(before, after, most) {
  const at = (/** @type {number} */ value) => Math.round((value / Math.max(1, most)) * WIDTH);
  return s("svg", { class: "bar", width: WIDTH, height: HEIGHT * 2 + 2, viewBox: `0 0 ${WIDTH} ${HEIGHT * 2 + 2}`, "aria-hidden": "true" },
    s("rect", { class: "room", width: WIDTH, height: HEIGHT }), s("rect", { class: "was", width: at(before), height: HEIGHT }),
    s("rect", { class: "room", y: HEIGHT + 2, width: WIDTH, height: HEIGHT }), s("rect", { class: "used", y: HEIGHT + 2, width: at(after), height: HEIGHT }));
}

/** @param {number} amount */
const thousandths = (amount) => (amount / 1000).toLocaleString("en", { maximumFractionDigits: 3 });
