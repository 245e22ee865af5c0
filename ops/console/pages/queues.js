// @ts-check
// The trees of quota: each cohort and cluster queue below its parent, with what it uses of what, and who borrows from whom.

import { ask, asOf } from "./answers.js";
import { useBar } from "./bars.js";
import { h } from "./dom.js";
import { flows } from "./flows.js";
import { amount } from "./format.js";
import { address } from "./place.js";

export const title = "Queues";

/** @param {HTMLElement} main @param {import("./place.js").Place} at @param {AbortSignal} signal */
export async function show(main, at, signal) {
  const load = async () => {
    const { data, as_of } = await ask("queues", asOf(at.query), signal);
    const focused = document.activeElement?.getAttribute("href");
    main.replaceChildren(h("h1", {}, title), tree(data), ...(data.tree.length ? [flows(data.lending)] : []));
    if (focused) /** @type {HTMLElement | null} */ (main.querySelector(`[href="${CSS.escape(focused)}"]`))?.focus();
    return { as_of, again: load };
  };
  return load();
}

/** @param {any} data */
function tree(data) {
  if (!data.tree.length) return h("p", { class: "empty" }, "There is no cluster queue. Create one with `kuelog create clusterqueue`.");
  /** @type {Record<string, any>} */
  const rows = Object.fromEntries(data.queues.map((/** @type {any} */ row) => [row.name, row]));
  return h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "Trees of quota" },
    h("table", {}, h("caption", {}, "Cohorts and cluster queues, and what they use; behind the mark it is borrowed"),
      h("thead", {}, h("tr", {}, ["Node", "Waiting", "Holding", "Flavor", "Resource", "Used", "Nominal", "May still use", "Use"].map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, data.tree.flatMap((/** @type {any} */ node) => lines(node, node.is_queue ? rows[node.name] : undefined)))));
}

/** @param {any} node @param {any} row */
function lines(node, row) {
  const name = node.is_queue
    ? h("a", { href: address("workloads", [], { queue: node.name }), "data-row": true }, node.name)
    : h("span", {}, `cohort ${node.name}`);
  const used = node.usage.length ? node.usage : [undefined];
  return used.map((/** @type {any} */ one, /** @type {number} */ index) => h("tr", {},
    index ? h("td", {}) : h("th", { scope: "row", class: `depth-${Math.min(node.depth, 6)}` }, name, stopped(row)),
    h("td", { class: "number" }, index || !row ? "" : String(row.waiting + row.parked)),
    h("td", { class: "number" }, index || !row ? "" : String(row.reserved)),
    one ? [one.flavor, one.resource].map((text) => h("td", {}, text)) : [h("td", {}), h("td", {})],
    one ? [one.used, one.nominal, one.available].map((units) => h("td", { class: "number" }, amount(one.resource, units))) : [h("td", {}), h("td", {}), h("td", {})],
    h("td", {}, one ? useBar(one) : "")));
}

/** @param {any} row */
function stopped(row) {
  return row && row.stop !== "None" ? h("span", { class: "note" }, ` stopped: ${row.stop}`) : null;
}
