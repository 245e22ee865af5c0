// @ts-check
// Bills: who held what of which cards for how long, what it costs, and where the time of the cards went.

import { ask, asOf } from "./answers.js";
import { h, OF_CLUSTER, table } from "./dom.js";
import { hours, moment } from "./format.js";
import { moved } from "./place.js";

export const title = "Bills";

const GROUPS = ["tenant,queue", "tenant", "queue", "model", "node", "workload"];
const MEASURES = ["kind", "memory_mib_ms", "core_percent_ms", "card_ms", "exclusive_ms", "unpriced_lines", "unpriced_card_ms", "dominant_share_gpu_hours", "list_cost", "cost", "currency"];
const PARTS = ["used", "idle", "stranded", "cordoned", "unhealthy", "lost"];

/** @param {HTMLElement} main @param {import("./place.js").Place} at @param {AbortSignal} signal */
export async function show(main, at, signal) {
  const group = at.query.get("group") ?? GROUPS[0];
  const period = Object.fromEntries(["from", "to"].map((name) => [name, at.query.get(name) ?? ""]));
  const load = async () => {
    const { data, as_of } = await ask("bills", { ...asOf(at.query), ...period, "group-by": group }, signal);
    main.replaceChildren(h("h1", {}, title), choice(group, period), ...parts(data));
    return { as_of, again: load, concerns: () => false };
  };
  return load();
}

/** @param {string} group @param {Record<string, string>} period */
function choice(group, period) {
  const field = (/** @type {string} */ name, /** @type {string} */ label) => [h("label", { for: name }, label), h("input", { id: name, value: period[name], size: 22, placeholder: name === "from" ? "the beginning" : "the end" })];
  const form = h("form", { class: "filters" }, field("from", "From"), field("to", "To, not included"), h("button", {}, "Bill this period"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const value = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (document.getElementById(id)).value.trim();
    location.hash = moved({ from: value("from"), to: value("to") });
  });
  return h("div", {}, form, h("p", {}, "By ", GROUPS.map((one) => [h("a", { href: moved({ group: one }), "aria-current": one === group ? "true" : undefined }, one), " "]).flat()));
}

/** A word as the name of a column. @param {string} word */
const titled = (word) => word[0].toUpperCase() + word.slice(1);

/** @param {any} data */
function parts(data) {
  const names = data.lines.length ? Object.keys(data.lines[0]).filter((name) => !MEASURES.includes(name)) : [];
  const total = Object.entries(data.total).map(([currency, amount]) => `${amount} ${currency}`).join(", ");
  return [
    h("p", { class: "lead" }, data.until ? `${moment(data.since)} to ${moment(data.until)}: ${total || "nothing has a price yet"}` : "Nothing has happened yet: the log is empty. The services write it: `kuelog up` on this machine, `kuelog deploy` in a cluster."),
    ...data.unpriced.map((/** @type {any} */ one) => h("p", { class: "problem" }, `No price for cards of flavor ${one.flavor || "?"} (model ${one.model}): ${hours(one.card_ms)} card-hours have no cost. Enter a price list with \`kuelog price set -f FILE\`.`)),
    h("section", {}, h("h2", {}, "Lines"),
      table("What was held, and what it costs", [...names.map(titled), "Kind", "GiB-hours", "Card-hours", "Of them alone on a card", "Cost"],
        data.lines.map((/** @type {any} */ line) => [...names.map((name) => line[name]), line.kind, hours(line.memory_mib_ms / 1024), hours(line.card_ms), hours(line.exclusive_ms), line.cost === null ? "no price" : `${line.cost} ${line.currency ?? ""}`]), "Nobody held a card in this period. A line appears here when a workload gets cards.")),
    h("section", {}, h("h2", {}, "Where the time of the cards went"),
      data.cards === null ? h("p", { class: "empty" }, OF_CLUSTER) : table("Card-hours by flavor and model", ["Flavor", "Model", "Cards", ...PARTS.map(titled)],
        data.cards.map((/** @type {any} */ row) => [row.flavor, row.model, row.cards, ...PARTS.map((name) => hours(row[name]?.cards ?? 0))]), "No card is known. Cards appear when the plugin of their vendor registers them on a node.")),
  ];
}
