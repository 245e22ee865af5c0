// @ts-check
// The domains of each topology as nested boxes: what is free in each, who stands where, and which nodes take nobody.

import { ask, asOf } from "./answers.js";
import { h, s } from "./dom.js";
import { amount } from "./format.js";
import { address, moved } from "./place.js";

export const title = "Topology";

const CELL = 12;
const OPEN_AT_MOST = 150;
const NAMED = 6;
/** Which boxes somebody has opened or closed. @type {Map<string, boolean>} */
const opened = new Map();

/** @param {HTMLElement} main @param {import("./place.js").Place} at @param {AbortSignal} signal */
export async function show(main, at, signal) {
  const load = async () => {
    const { data, as_of } = await ask("topology", asOf(at.query), signal);
    const focused = document.activeElement?.getAttribute("data-box");
    main.replaceChildren(h("h1", {}, title), ...parts(data, at));
    if (focused) /** @type {HTMLElement | null} */ (main.querySelector(`[data-box="${CSS.escape(focused)}"]`))?.focus();
    return { as_of, again: load };
  };
  return load();
}

/** @param {any} data @param {import("./place.js").Place} at */
function parts(data, at) {
  if (!data.flavors.length) return [h("p", { class: "empty" }, "No flavor has a topology. Create a Topology with the node labels of your racks, and name it in ", h("code", {}, "topologyName"), " of a ResourceFlavor. "), h("a", { href: address("cards") }, "Cards by node")];
  const chosen = data.flavors.find((/** @type {any} */ one) => one.flavor === at.query.get("flavor")) ?? data.flavors[0];
  const wanted = at.query.get("workload") ?? "";
  return [
    h("p", {}, "Flavor ", data.flavors.map((/** @type {any} */ one) => [h("a", { href: moved({ flavor: one.flavor }), "aria-current": one === chosen ? "true" : undefined }, one.flavor), " "]).flat(), `, topology ${chosen.topology}: ${chosen.levels.join(" › ")}`),
    search(wanted, chosen),
    ...(chosen.unusable.length ? [unusable(chosen.unusable)] : []),
    ...(chosen.domains.length ? boxes(chosen, wanted) : [h("p", { class: "empty" }, `No node is ready and bears the labels of flavor ${chosen.flavor} and one for each level (${chosen.levels.join(", ")}).`)]),
  ];
}

/** @param {string} wanted @param {any} chosen */
function search(wanted, chosen) {
  const input = /** @type {HTMLInputElement} */ (h("input", { id: "search", type: "search", value: wanted, size: 34, placeholder: "namespace/name", spellcheck: "false" }));
  const form = h("form", { class: "filters", role: "search" }, h("label", { for: "search" }, "Highlight a workload"), input, h("button", {}, "Show"));
  form.addEventListener("submit", (event) => { event.preventDefault(); location.hash = moved({ workload: input.value.trim() }); });
  const places = wanted ? chosen.domains.filter((/** @type {any} */ one) => one.leaf && holds(one, wanted)) : [];
  const said = !wanted ? null : h("p", { role: "status" }, places.length
    ? [h("a", { href: address("workloads", wanted.split("/")) }, wanted), ` stands in ${places.map((/** @type {any} */ one) => `${one.values.join(" › ")} (${pods(one, wanted)} pod(s))`).join(", ")}`]
    : `${wanted} stands nowhere here.`);
  return h("div", {}, form, said);
}

/** @param {any} domain @param {string} workload */
const holds = (domain, workload) => domain.holders.some((/** @type {any} */ one) => one.workload === workload);
/** @param {any} domain @param {string} workload */
const pods = (domain, workload) => domain.holders.filter((/** @type {any} */ one) => one.workload === workload).reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.pods, 0);

/** @param {any[]} nodes */
function unusable(nodes) {
  return h("section", {}, h("h2", {}, "Nodes that take nobody"), h("ul", {}, nodes.map((one) => h("li", { class: "problem" }, `${one.node}: ${one.why}`))));
}

/** The domains stand one behind the other, each before what lies in it. @param {any} chosen @param {string} wanted */
function boxes(chosen, wanted) {
  const { domains } = chosen;
  const lowest = chosen.levels.length - 1;
  const open = domains.filter((/** @type {any} */ one) => one.leaf).length <= OPEN_AT_MOST;
  /** @param {number} from @param {number} level @returns {[HTMLElement[], number]} */
  const within = (from, level) => {
    const found = [];
    let place = from;
    while (place < domains.length && domains[place].values.length - 1 === level) {
      const domain = domains[place];
      const first = place + 1;
      let end = first;
      while (end < domains.length && domains[end].values.length - 1 > level) end += 1;
      found.push(level === lowest ? leaf(domain, wanted) : box(domain, chosen.levels[level], wanted, open, () => within(first, level + 1)[0]));
      place = end;
    }
    return [found, place];
  };
  return [h("div", { class: lowest ? "domains" : "domains leaves" }, within(0, 0)[0])];
}

/** @param {any} domain @param {string} level @param {string} wanted @param {boolean} open @param {() => HTMLElement[]} inner */
function box(domain, level, wanted, open, inner) {
  const key = domain.values.join(",");
  const held = wanted !== "" && holds(domain, wanted);
  const content = h("div", { class: "inner" });
  const summary = h("summary", { "data-box": key, "data-row": true }, h("strong", {}, `${level} ${domain.values[domain.values.length - 1]}`), ` ${free(domain)}; ${domain.holders.length} workload(s)`);
  const details = /** @type {HTMLDetailsElement} */ (h("details", { class: held ? "domain held" : "domain" }, summary, content));
  // What lies in a closed box is drawn when it is opened: a thousand hosts are not drawn for nobody.
  const fill = () => { if (details.open && !content.childElementCount) content.append(...inner()); };
  details.open = opened.get(key) ?? (open || held);
  fill();
  details.addEventListener("toggle", () => { opened.set(key, details.open); fill(); });
  return details;
}

/** @param {any} domain */
function free(domain) {
  return Object.keys(domain.offered).map((name) => `${amount(name, domain.free[name] ?? 0)} of ${amount(name, domain.offered[name])} ${name} free`).join(", ");
}

/** @param {any} domain @param {string} wanted */
function leaf(domain, wanted) {
  const name = domain.values[domain.values.length - 1];
  const more = domain.holders.length - NAMED;
  const first = [...domain.holders].sort((/** @type {any} */ one, /** @type {any} */ other) => Number(other.workload === wanted) - Number(one.workload === wanted)).slice(0, NAMED);
  return h("section", { class: wanted && holds(domain, wanted) ? "host held" : "host", "aria-label": name },
    h("h3", {}, domain.cards.length ? h("a", { href: address("cards", [], { node: name }) }, name) : name),
    h("p", {}, free(domain)),
    domain.cards.length ? cards(domain.cards) : null,
    domain.holders.length ? h("ul", {}, first.map((/** @type {any} */ one) => h("li", {}, h("a", { href: address("workloads", one.workload.split("/")), "data-row": true }, one.workload), ` ${one.pods} pod(s)`, one.workload === wanted ? h("strong", {}, " (shown)") : null)), more > 0 ? h("li", {}, `and ${more} more`) : null) : null);
}

/** Each card a small box, filled as far as its memory is given. @param {any[]} found */
function cards(found) {
  const out = found.filter((one) => one.state !== "ok").length;
  const words = `${found.length} card(s), ${found.filter((one) => !one.memory_used).length} free${out ? `, ${out} out of service` : ""}`;
  return h("p", { class: "cells" }, s("svg", { width: found.length * (CELL + 2), height: CELL, role: "img", "aria-label": words },
    ...found.flatMap((one, index) => [
      s("rect", { class: one.state === "ok" ? "room" : "cell-out", x: index * (CELL + 2), width: CELL, height: CELL }),
      s("rect", { class: "used", x: index * (CELL + 2), y: CELL - Math.round((one.memory_used / Math.max(1, one.memory)) * CELL), width: CELL, height: Math.round((one.memory_used / Math.max(1, one.memory)) * CELL) })])), ` ${words}`);
}
