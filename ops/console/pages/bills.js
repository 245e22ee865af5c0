// @ts-check
// Bills: who held what for how long and what it costs, down to the log; budgets, and the months that are closed.

import { ask, asOf } from "./answers.js";
import { h, OF_CLUSTER, table } from "./dom.js";
import { amount, hours, moment } from "./format.js";
import { workloadLink } from "./names.js";
import { address, moved } from "./place.js";

export const title = "Bills";

const GROUPS = ["tenant,queue", "tenant", "account,cost-center", "queue", "job", "model", "node", "workload"];
const MEASURES = ["kind", "memory_mib_ms", "core_percent_ms", "card_ms", "exclusive_ms", "unpriced_lines", "unpriced_card_ms", "dominant_share_gpu_hours", "list_cost", "cost", "currency"];
const PARTS = ["used", "idle", "stranded", "cordoned", "unhealthy", "lost"];
/** From the whole to the parts: what a bill of one is grouped by, so that a click leads one step further. @type {Record<string, string>} */
const NEXT = { account: "tenant", tenant: "queue", queue: "job" };
const FILTERS = ["account", "tenant", "queue", "job"];
/** What this page shows, by `part` of the address. @type {Record<string, string>} */
const SHOWN = { "": "Bill", entries: "Entries", budgets: "Budgets", months: "Closed months" };

/** @param {HTMLElement} main @param {import("./place.js").Place} at @param {AbortSignal} signal */
export async function show(main, at, signal) {
  const part = at.query.get("part") ?? "";
  const group = at.query.get("group") ?? GROUPS[0];
  const kept = Object.fromEntries(["from", "to", ...FILTERS].map((name) => [name, at.query.get(name) ?? ""]));
  const load = async () => {
    const asked = { ...asOf(at.query), ...kept };
    if (part === "budgets" || part === "months") {
      const { data, as_of } = await ask(part, { ...asOf(at.query), check: at.query.get("check") ?? "" }, signal);
      main.replaceChildren(h("h1", {}, title), parting(part), ...(part === "budgets" ? budgets(data) : months(data)));
      return { as_of, again: load, concerns: () => part === "budgets" };
    }
    const { data, as_of } = part === "entries" ? await ask("entries", asked, signal) : await ask("bills", { ...asked, "group-by": group }, signal);
    main.replaceChildren(h("h1", {}, title), parting(part), choice(part === "entries" ? "" : group, kept), ...narrowed(kept), ...(part === "entries" ? entries(data) : parts(data)));
    return { as_of, again: load, concerns: () => false };
  };
  return load();
}

/** @param {string} part */
function parting(part) {
  return h("nav", { class: "counts", "aria-label": "Parts of this page" }, Object.entries(SHOWN).map(([name, words]) => [h("a", { href: moved({ part: name, check: "" }), "aria-current": name === part ? "true" : undefined }, words), " "]).flat());
}

/** @param {Record<string, string>} kept */
function narrowed(kept) {
  const named = FILTERS.filter((name) => kept[name]);
  return named.length ? [h("p", {}, "Only of ", named.map((name) => [`${name} ${kept[name]} `, h("a", { href: moved({ [name]: "" }), "aria-label": `Not only of ${name} ${kept[name]}` }, "(all)"), " "]).flat(), h("a", { href: moved({ part: "entries" }) }, "Its entries, with their places on the log"))] : [];
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
  return h("div", {}, form, group ? h("p", {}, "By ", GROUPS.map((one) => [h("a", { href: moved({ group: one }), "aria-current": one === group ? "true" : undefined }, one), " "]).flat()) : null);
}

/** A cell that leads to the parts of what it names. @param {string} name @param {string} value */
function further(name, value) {
  const filter = name.replace("_", "-");
  if (!value || !FILTERS.includes(filter)) return value;
  const next = NEXT[filter];
  return h("a", { href: moved(next ? { [filter]: value, group: next } : { [filter]: value, part: "entries" }), title: next ? `The bill of ${filter} ${value} by ${next}` : `The entries of ${filter} ${value}` }, value);
}

/** A place on the log, and what the cluster was like just then. @param {{why: string, place: string} | null} one */
function placed(one) {
  return one ? [`${one.why} `, h("a", { href: address("log", [], { at: one.place }), title: "The log as it was then" }, one.place)] : "goes on";
}

/** What an entry is about: a slice of a card, devices that a claim has, or quota. @param {any} one */
function held(one) {
  if (one.card) return `${one.memory_mib} MiB, ${one.cores} cores of ${one.card} on ${one.node}`;
  if (one.claim) return `${one.devices} device(s) of class ${one.device_class} by claim ${one.claim}`;
  return `${amount(one.resource, one.amount)} ${one.resource} of ${one.flavor}`;
}

/** @param {any} data */
function entries(data) {
  return [
    h("p", { class: "lead" }, `${data.entries.length} entries from ${moment(data.since)} to ${moment(data.until)}, the dearest first${data.left_out ? `; ${data.left_out} more are left out: narrow the bill, or ask \`kuelog bill entries\`` : ""}`),
    table("What was held, from where on the log until where", ["Job", "Kind", "From", "Until", "What", "Cost", "Began", "Ended", "Entry"],
      data.entries.map((/** @type {any} */ one) => [workloadLink(one.workload), one.kind, moment(one.since), moment(one.until),
        held(one),
        one.cost === null ? "no cost" : `${one.cost} ${one.currency}`, placed(one.began), placed(one.ended), one.id]), "Nothing was held in this period."),
  ];
}

/** @param {any} data */
function budgets(data) {
  const ends = (/** @type {any} */ one) => (one.percent >= 100 ? "is used up" : one.forecast.used_up_at === null ? "not in this period" : moment(one.forecast.used_up_at));
  return [
    h("p", { class: "lead" }, "What is used of each budget, and what becomes of it if those who run go on and nobody else comes"),
    table("Budgets", ["Budget", "Of", "Per", "Used", "Allowed", "", "Used up", "At its end", "With who waits", "At its end", "While they run"],
      data.budgets.map((/** @type {any} */ one) => [one.budget, one.resource, one.period, one.used, one.allowed,
        h("meter", { min: 0, max: 100, high: 80, value: Math.min(one.percent, 100), "aria-label": `${one.percent} % of ${one.budget} are used` }, `${one.percent} %`),
        ends(one), `${one.forecast.percent_at_end} %`, `${one.with_waiting.percent_at_end} %`, one.at_end, one.running]),
      "There is no budget: the annotation kuelog.io/budget of a ClusterQueue or a Namespace is one."),
  ];
}

/** @param {any} data */
function months(data) {
  return [
    h("p", { class: "lead" }, data.months.length ? `${data.months.length} month(s) are closed: what was billed for them stays as it is` : "No month is closed yet: `kuelog bill close MONTH` does that, with two signatures."),
    ...data.months.map((/** @type {any} */ one) => h("section", {}, h("h2", {}, `${one.month}: invoice ${one.invoice}`),
      h("p", {}, `${Object.entries(one.totals).map(([currency, total]) => `${total} ${currency}`).join(", ") || "nothing"} in ${one.rows} rows, closed at ${one.place} by ${one.author}${one.reason ? ` (${one.reason})` : ""}. `,
        h("a", { href: moved({ part: "", from: one.month, to: after(one.month), group: "account,cost-center" }) }, "Its bill")),
      h("p", {}, "SHA-256 of its FOCUS data set: ", h("code", {}, one.sha256)),
      h("p", { role: "status" }, one.problem === null ? h("a", { href: moved({ check: one.month }) }, "Calculate it again from the log") : one.problem === "" ? "The log still comes to just this data set." : h("span", { class: "problem" }, one.problem)),
      table(`Approvals of ${one.month}`, ["Who", "Key", "Signature"], one.approvals.map((/** @type {any} */ by) => [by.name, by.key, h("code", {}, by.signature)]), "Nobody has signed it."),
      table(`What the bill of ${one.month} rests on`, ["Stream", "Up to"], Object.entries(one.upto), "The log was empty."))),
  ];
}

/** The month after one. @param {string} month */
function after(month) {
  const [year, number] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 7);
}

/** A word as the name of a column. @param {string} word */
const titled = (word) => word[0].toUpperCase() + word.slice(1).replace("_", " ");

/** What has no price: cards, quota, or devices that claims hold, and how much of it where that is hours of pieces. @param {any} one */
function unpriced(one) {
  if (one.device_class) return `devices of class ${one.device_class}: ${hours(one.device_ms)} device-hours have no cost`;
  if (one.resource) return `${one.resource} of flavor ${one.flavor}: what was held of it has no cost`;
  return `cards of flavor ${one.flavor || "?"} (model ${one.model}): ${hours(one.card_ms)} card-hours have no cost`;
}

/** @param {any} data */
function parts(data) {
  const names = data.lines.length ? Object.keys(data.lines[0]).filter((name) => !MEASURES.includes(name)) : [];
  const total = Object.entries(data.total).map(([currency, amount]) => `${amount} ${currency}`).join(", ");
  return [
    h("p", { class: "lead" }, data.until ? `${moment(data.since)} to ${moment(data.until)}: ${total || "nothing has a price yet"}` : "Nothing has happened yet: the log is empty. The services write it: `kuelog up` on this machine, `kuelog deploy` in a cluster."),
    ...data.unpriced.map((/** @type {any} */ one) => h("p", { class: "problem" }, `No price for ${unpriced(one)}. Enter a price list with \`kuelog price set -f FILE\`.`)),
    h("section", {}, h("h2", {}, "Lines"),
      table("What was held, and what it costs", [...names.map(titled), "Kind", "GiB-hours", "Card-hours", "Of them alone on a card", "Cost"],
        data.lines.map((/** @type {any} */ line) => [...names.map((name) => further(name, line[name])), line.kind, hours(line.memory_mib_ms / 1024), hours(line.card_ms), hours(line.exclusive_ms), line.cost === null ? "no price" : `${line.cost} ${line.currency ?? ""}`]), "Nobody held a card in this period. A line appears here when a workload gets cards.")),
    h("section", {}, h("h2", {}, "Where the time of the cards went"),
      data.cards === null ? h("p", { class: "empty" }, OF_CLUSTER) : table("Card-hours by flavor and model", ["Flavor", "Model", "Cards", ...PARTS.map(titled)],
        data.cards.map((/** @type {any} */ row) => [row.flavor, row.model, row.cards, ...PARTS.map((name) => hours(row[name]?.cards ?? 0))]), "No card is known. Cards appear when the plugin of their vendor registers them on a node.")),
    ...(data.unused?.length ? [h("section", {}, h("h2", {}, "What unused card memory costs"),
      table("Free card memory in money, and who pays for it", ["What", "Flavor", "Model", "From", "GiB-hours", "Cost", "Shared by", "Charged to"],
        data.unused.map((/** @type {any} */ one) => [one.what, one.flavor, one.model, moment(one.since), hours(one.memory_mib_ms / 1024), `${one.cost} ${one.currency}`, one.spread,
          one.shares.map((/** @type {any} */ share) => `${share.tenant} ${share.cost}`).join(", ") || "nobody"]), ""))] : []),
    ...(data.quota?.borrowed.length ? [h("section", {}, h("h2", {}, "Borrowed quota"),
      table("Who had quota of whom, and what it is worth", ["Queue", "Of", "Flavor", "Resource", "Hours of it", "Worth"],
        data.quota.borrowed.map((/** @type {any} */ one) => [one.borrower, one.lender || "nobody (quota was lowered)", one.flavor, one.resource, hours(one.unit_ms), one.worth ?? "no price"]), ""))] : []),
  ];
}
