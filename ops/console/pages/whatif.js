// @ts-check
// What if: a number is changed, the log is played on with it and without it, and both outcomes stand side by side.

import { ask, asOf, send } from "./answers.js";
import { h, table } from "./dom.js";
import { duration, moment } from "./format.js";
import { compared } from "./outcomes.js";
import { moved, place } from "./place.js";

export const title = "What if";

const LOOK_MS = 400;
/** The lists of changes in an address and in a question. */
const LISTS = ["set", "remove", "more"];

/** @param {HTMLElement} main @param {import("./place.js").Place} at @param {AbortSignal} signal */
export async function show(main, at, signal) {
  const { data, as_of } = await ask("choices", asOf(at.query), signal);
  const outcome = h("div", { id: "outcome" });
  main.replaceChildren(h("h1", {}, title), lead(at), changes(at), adding(data), running(at, outcome), outcome);
  const run = at.query.get("run");
  if (run) void follow(run, outcome, signal);
  return { as_of };
}

/** @param {import("./place.js").Place} at */
function lead(at) {
  const from = at.query.get("at");
  return h("p", {}, from ? `The log is forked at ${from} and played on from there, with the changes and without them. ` : "The log is played from its beginning, with the changes and without them; move the slider to fork it at a moment. ",
    "Arrivals and run times come from the record, all else is decided anew. Nothing is written.");
}

/** Changes as the address has them. @param {URLSearchParams} query */
function listed(query) {
  return LISTS.flatMap((list) => query.getAll(list).map((text) => ({ list, text })));
}

/** The address with other changes; an outcome is of the changes that it was played with. @param {{list: string, text: string}[]} wanted */
function withChanges(wanted) {
  const { query } = place();
  for (const name of [...LISTS, "run"]) query.delete(name);
  for (const { list, text } of wanted) query.append(list, text);
  return `#/whatif?${query}`;
}

/** @param {import("./place.js").Place} at */
function changes(at) {
  const all = listed(at.query);
  if (!all.length) return h("p", { class: "empty" }, "Nothing is changed yet.");
  return h("ul", { class: "changes" }, all.map((one, index) => h("li", {}, h("code", {}, words(one)), " ",
    h("button", { type: "button", "aria-label": `Leave out ${one.text}`, click: () => { location.hash = withChanges(all.filter((_, other) => other !== index)); } }, "Leave out"))));
}

/** @param {{list: string, text: string}} one */
function words({ list, text }) {
  return list === "set" ? text : list === "remove" ? `without ${text}` : `more of ${text}`;
}

/** @param {string} list @param {string} text */
function add(list, text) {
  if (text) location.hash = withChanges([...listed(place().query), { list, text }]);
}

/** The forms that add a change. @param {any} data */
function adding(data) {
  const quota = select("quota", data.quotas.map((/** @type {any} */ one) => [one.field, `${one.object} ${one.flavor} ${one.resource}: ${one.nominal}`]));
  const amount = input("amount", { size: 10, value: data.quotas[0]?.nominal ?? "" });
  quota.addEventListener("change", () => { amount.value = data.quotas[quota.selectedIndex].nominal; });
  const workload = input("workload", { size: 30, placeholder: "namespace/name" });
  const priority = input("priority", { type: "number", step: 1, size: 8 });
  const node = select("node", data.nodes.map((/** @type {any} */ one) => [one.name, `${one.name}, ${one.cards.length} card(s)`]));
  const more = input("more", { type: "number", min: 1, max: 1000, value: 1, size: 5 });
  const gone = select("gone", [...data.queues.map((/** @type {string} */ one) => [`clusterqueue/${one}`, `cluster queue ${one}`]),
    ...data.nodes.flatMap((/** @type {any} */ one) => [[`node/${one.name}`, `node ${one.name}`], ...one.cards.map((/** @type {string} */ uuid) => [`card/${uuid}`, `card ${uuid}`])])]);
  return h("section", { "aria-labelledby": "adding" }, h("h2", { id: "adding" }, "Change"),
    form(["Nominal quota of", quota, "to", amount], () => add("set", quota.value && amount.value.trim() ? `${quota.value}=${amount.value.trim()}` : ""), data.quotas.length > 0, "No quota is known at this moment. Create a cluster queue with `kuelog create clusterqueue`, or show a moment at which there was one."),
    form(["Priority of workload", workload, "to", priority], () => add("set", workload.value.trim() && priority.value ? `workload/${workload.value.trim()}:spec.priority=${priority.value}` : ""), true, ""),
    form(["More nodes such as", node, "number", more], () => add("more", node.value && more.value ? `node/${node.value}=${more.value}` : ""), data.nodes.length > 0, "No node is known at this moment. Show a moment at which there was one."),
    form(["Without", gone], () => add("remove", gone.value), data.queues.length + data.nodes.length > 0, ""));
}

/** @param {string} id @param {Record<string, unknown>} attributes */
function input(id, attributes) {
  return /** @type {HTMLInputElement} */ (h("input", { id: `whatif-${id}`, spellcheck: "false", autocomplete: "off", ...attributes }));
}

/** @param {string} id @param {string[][]} options */
function select(id, options) {
  return /** @type {HTMLSelectElement} */ (h("select", { id: `whatif-${id}` }, options.map(([value, text]) => h("option", { value }, text))));
}

/** @param {(string | HTMLElement)[]} parts @param {() => void} submit @param {boolean} there @param {string} otherwise */
function form(parts, submit, there, otherwise) {
  if (!there) return otherwise ? h("p", { class: "empty" }, otherwise) : null;
  const labelled = parts.map((part, index) => (typeof part === "string" ? h("label", { for: /** @type {HTMLElement} */ (parts[index + 1]).id }, part) : part));
  const found = h("form", { class: "filters" }, labelled, h("button", {}, "Add"));
  found.addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  return found;
}

/** @param {import("./place.js").Place} at @param {HTMLElement} outcome */
function running(at, outcome) {
  const button = h("button", { type: "button", id: "run", disabled: !listed(at.query).length }, "Play both");
  button.addEventListener("click", () => {
    const query = place().query;
    const asked = Object.fromEntries(LISTS.map((list) => [list, query.getAll(list)]));
    outcome.replaceChildren(h("p", { role: "status" }, "Asking …"));
    send("POST", "whatif", { at: query.get("at") ?? "", ...asked })
      .then(({ id }) => { location.hash = moved({ run: id }); })
      .catch((problem) => outcome.replaceChildren(h("p", { class: "problem", role: "alert" }, problem.message)));
  });
  return h("p", {}, button);
}

/** Look how a run stands until it is over. @param {string} run @param {HTMLElement} outcome @param {AbortSignal} signal */
async function follow(run, outcome, signal) {
  const bars = new Map(["as it was", "changed"].map((name) => [name, /** @type {HTMLProgressElement} */ (h("progress", { id: `run-${name.replaceAll(" ", "-")}`, max: 1 }))]));
  const stop = h("button", { type: "button", id: "cancel", click: () => void send("DELETE", `whatif/${run}`).catch(() => undefined) }, "Cancel");
  outcome.replaceChildren(h("div", { class: "filters" }, [...bars].flatMap(([name, bar]) => [h("label", { for: bar.id }, name[0].toUpperCase() + name.slice(1)), bar]), stop));
  while (!signal.aborted) {
    try {
      const found = await ask(`whatif/${run}`, {}, signal);
      if (found.state !== "running") {
        if (!signal.aborted) outcome.replaceChildren(...over(found));
        return;
      }
      for (const [name, [done, total]] of /** @type {[string, number[]][]} */ (Object.entries(found.progress))) {
        const bar = bars.get(name);
        if (bar && total) bar.value = done / total;
      }
    } catch (problem) {
      if (!signal.aborted) outcome.replaceChildren(h("p", { class: "problem", role: "alert" }, /** @type {Error} */ (problem).message));
      return;
    }
    await new Promise((later) => { setTimeout(later, LOOK_MS); });
  }
}

/** @param {any} found */
function over(found) {
  if (found.state === "cancelled") return [h("p", { role: "status" }, "It was cancelled.")];
  if (!found.result) return [h("p", { class: "problem", role: "alert" }, found.problem)];
  const { at, arrivals, comparison } = found.result;
  const asked = LISTS.flatMap((list) => found.asked[list].map((/** @type {string} */ text) => words({ list, text })));
  return [
    h("h2", {}, "Both outcomes"),
    h("p", { role: "status", class: "lead" }, `Forked at ${moment(at)} with ${asked.join(", ")}: ${comparison.gain} of ${comparison.workloads} workloads get in earlier, ${comparison.lose} later; ${arrivals} arrive behind the fork.`),
    ...compared(comparison),
    table("Who gains and who loses most", ["Workload", "Queue", "As it was", "Changed", "Waits"],
      [...comparison.gainers, ...comparison.losers].map((/** @type {any} */ one) => [one.workload, one.queue, one.before === null ? "never" : moment(one.before), one.after === null ? "never" : moment(one.after), `${duration(Math.abs(one.by))} ${one.by < 0 ? "less" : "longer"}`]), "Nobody gets in earlier or later."),
  ];
}
