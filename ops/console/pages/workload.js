// @ts-check
// One workload: how it stands and why in numbers, what would let it in, its life with its causes and traces, its cost.

import { ask, asOf } from "./answers.js";
import { h, s, table } from "./dom.js";
import { amount, duration, hours, moment } from "./format.js";
import { queueLink, workloadLink, workloadLinks } from "./names.js";
import { address, moved } from "./place.js";

export const title = "Workload";

const WIDTH = 720;

/** @param {HTMLElement} main @param {import("./place.js").Place} at @param {AbortSignal} signal */
export async function show(main, at, signal) {
  const key = at.rest.join("/");
  const bill = h("section", { "aria-labelledby": "cost" }, h("h2", { id: "cost" }, "What it has cost"), h("p", { class: "note" }, "It is being counted."));
  let asked = false;
  const load = async () => {
    const { data, as_of } = await ask(`workloads/${at.rest.map(encodeURIComponent).join("/")}`, asOf(at.query), signal);
    main.replaceChildren(h("h1", {}, key), ...parts(data, as_of.at), bill);
    // All of the log is read for it, so it is asked for once, and stands behind all else.
    if (!asked) void fill(bill, key, at, signal);
    asked = true;
    return { as_of, again: load, concerns: (/** @type {Set<string>} */ objects) => objects.has(`workload/${key}`) };
  };
  return load();
}

/** @param {HTMLElement} bill @param {string} key @param {import("./place.js").Place} at @param {AbortSignal} signal */
async function fill(bill, key, at, signal) {
  try {
    const { data } = await ask("bills", { ...asOf(at.query), "group-by": "workload,queue,model", tenant: at.rest[0], workload: key }, signal);
    bill.lastElementChild?.replaceWith(table("What it has held of cards, and what that costs", ["Queue", "Model", "Kind", "Card-hours", "GiB-hours", "Cost"],
      data.lines.map((/** @type {any} */ one) => [queueLink(one.queue ?? ""), one.model, one.kind, hours(one.card_ms), hours(one.memory_mib_ms / 1024), one.cost === null ? "no price" : `${one.cost} ${one.currency ?? ""}`]), "It has held no card so far."));
  } catch (problem) {
    if (!signal.aborted) bill.lastElementChild?.replaceWith(h("p", { class: "problem" }, problem instanceof Error ? problem.message : "It can't be counted now."));
  }
}

/** @param {any} data @param {number} now */
function parts(data, now) {
  const { explanation: it, near, history, stands } = data;
  return [
    h("p", { class: "lead" }, h("strong", {}, it.state), ` for ${duration(now - it.since)}`,
      it.tier === "nothing" ? "" : ` because of ${it.tier}: ${it.reason}`),
    it.message ? h("p", {}, it.message) : null,
    stands.length ? where(it.workload, stands) : null,
    h("p", {}, `${it.job}, queue ${it.local_queue} → `,
      queueLink(it.cluster_queue) || "no cluster queue", `, priority ${it.priority}`,
      it.line.position ? `, position ${it.line.position} of ${it.line.waiting}` : ""),
    ...it.left_alone.map((/** @type {any} */ one) => h("p", { class: "problem" }, `Set aside since ${moment(one.since)}: ${one.message}`)),
    it.waits_for.length ? h("section", {}, h("h2", {}, "It waits for"), h("ul", {}, it.waits_for.map((/** @type {string} */ one) => h("li", {}, one)))) : null,
    it.clusters.length ? h("section", {}, h("h2", {}, "Other clusters answer"), h("ul", {}, it.clusters.map((/** @type {string} */ one) => h("li", {}, one)))) : null,
    it.shortages.length ? h("section", {}, h("h2", {}, "In numbers"), shortages(it.shortages)) : null,
    it.staying.length ? h("section", {}, h("h2", {}, "Who holds that"), staying(it.staying)) : null,
    near ? h("section", {}, h("h2", {}, "Domains that come nearest"), nearest(near)) : null,
    remedies(it),
    h("section", {}, h("h2", {}, "Life"), line(history, now), life(history)),
    it.stops.length ? h("section", {}, h("h2", {}, "Why it had to stop"), stops(it.stops)) : null,
  ].filter((one) => one !== null);
}

/** The boxes in which it stands, each with a link to where it is highlighted among the others. @param {string} key @param {any[]} stands */
function where(key, stands) {
  return h("p", {}, "It stands in ", ...stands.flatMap((one, index) => [index ? ", " : "",
    h("a", { href: address("topology", [], { flavor: one.flavor, workload: key }), "data-row": true }, one.values.join(" › ")), ` (${one.pods} pod(s))`]));
}

/** @param {any[]} rows */
function shortages(rows) {
  return table("What it asks for, and what is there", ["Flavor", "Resource", "Asked", "Available", "Missing", "Queue owns", "Queue uses", "Lent", "Obstacle"],
    rows.map((one) => [one.flavor, one.resource, ...["asked", "available", "missing", "nominal", "used", "lent"].map((name) => amount(one.resource, one[name])), one.obstacle]), "");
}

/** @param {any[]} rows */
function staying(rows) {
  return table("Who holds what it lacks, and why none of them is preempted for it", ["Workloads", "Queues", "First of them", "Why they stay"],
    rows.map((one) => [one.count, one.cluster_queues.join(", "), workloadLinks(one.workloads), one.message]), "");
}

/** @param {{ heading: string, rows: any[] }} near */
function nearest(near) {
  return table(`In ${near.heading}`, ["Level", "Nearest", "Pods", "What is short there"],
    near.rows.map((one) => [one.level, one.domain, one.verdict, h("ul", {}, one.lacks.map((/** @type {string} */ text) => h("li", {}, text)))]), "");
}

/** @param {any} it */
function remedies(it) {
  const steps = [
    ...it.raises.map((/** @type {any[]} */ together) => `raise the nominal quota of ${together[0].cluster_queue}: ${together.map((one) => `${one.resource} in ${one.flavor} by ${amount(one.resource, one.by)}`).join(" and ")}`),
    ...(it.ends.length ? [`the end of any one of ${it.ends.join(", ")}`] : []),
    ...(it.cards?.steps ?? []).map((/** @type {any} */ step) => `${step.way} ${step.holder}${step.cards.length ? `, which frees ${step.cards.join(", ")}` : ""}`),
    ...[it.note, it.fix].filter(Boolean),
  ];
  return steps.length ? h("section", {}, h("h2", {}, "What would let it in"), h("ul", {}, steps.map((step) => h("li", {}, step)))) : null;
}

/** The life as a line to scale; each mark is also a row of the table below. @param {any[]} rows @param {number} now */
function line(rows, now) {
  if (!rows.length) return null;
  const began = rows[0].at;
  const span = Math.max(1, now - began, rows[rows.length - 1].at - began);
  const words = `${rows.length} moment(s) in ${duration(span)}, from ${moment(began)}`;
  return s("svg", { class: "timeline", width: WIDTH, height: 28, viewBox: `0 0 ${WIDTH} 28`, role: "img", "aria-label": words },
    s("title", {}, words), s("line", { class: "mark", x1: 4, x2: WIDTH - 4, y1: 14, y2: 14 }),
    rows.map((row) => s("circle", { class: "moment", cx: 4 + Math.round(((row.at - began) / span) * (WIDTH - 8)), cy: 14, r: 4 }, s("title", {}, `${moment(row.at)} ${row.what}`))));
}

/** @param {any[]} rows */
function life(rows) {
  const traced = rows.some((row) => row.trace);
  return table("Its life, each moment with its place on the log", ["At", "Place", "What", "Detail", "Cause", ...(traced ? ["Trace"] : [])],
    rows.map((row) => [h("a", { href: moved({ at: moment(row.at) }), "data-row": true, title: "Show this page as of then" }, moment(row.at)), `${row.partition}/${row.sequence}`, [row.what, row.object].filter(Boolean).join(" "), row.detail, row.cause, ...(traced ? [h("code", {}, row.trace)] : [])]), "Nothing has happened to it.");
}

/** @param {any[]} rows */
function stops(rows) {
  return table("Every time that it had to stop", ["At", "Place", "What", "Why", "For", "Rule", "Victims"],
    rows.map((stop) => [moment(stop.at), `${stop.partition}/${stop.sequence}`, stop.kind, stop.reason, workloadLink(stop.by), stop.rule, workloadLinks(stop.victims)]), "");
}
