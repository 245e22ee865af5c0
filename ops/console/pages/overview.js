// @ts-check
// The first page: how many are in which state, who waits longest, what the trees use, how the cards are.

import { ask, asOf } from "./answers.js";
import { useBar } from "./bars.js";
import { h, OF_CLUSTER, table } from "./dom.js";
import { amount, duration } from "./format.js";
import { queueLink, workloadLink } from "./names.js";
import { address } from "./place.js";

export const title = "Overview";

/** @param {HTMLElement} main @param {import("./place.js").Place} at @param {AbortSignal} signal */
export async function show(main, at, signal) {
  const load = async () => {
    const { data, as_of } = await ask("overview", asOf(at.query), signal);
    main.replaceChildren(h("h1", {}, title), ...parts(data, as_of.at));
    return { as_of, again: load };
  };
  return load();
}

/** @param {any} data @param {number} now */
function parts(data, now) {
  const states = Object.entries(data.states);
  const { cards } = data;
  const count = Object.values(cards?.states ?? {}).reduce((sum, one) => sum + Number(one), 0);
  return [
    h("section", { "aria-labelledby": "states" }, h("h2", { id: "states" }, "Workloads"),
      states.length ? h("ul", { class: "figures" }, states.map(([state, number]) =>
        h("li", {}, h("a", { href: address("workloads", [], { state }) }, h("strong", {}, number), ` ${state}`))))
        : h("p", { class: "empty" }, "There is no workload. A job with a queue name appears here when it is submitted.")),
    h("section", {}, h("h2", {}, "Waiting longest"),
      table("The workloads that wait longest", ["Workload", "Cluster queue", "Priority", "For", "Why"],
        data.longest_waiting.map((/** @type {any} */ row) => [
          workloadLink(row.key), queueLink(row.cluster_queue), row.priority, duration(now - row.since), row.reason]), "No workload waits.")),
    ...(cards === null ? [h("p", { class: "note" }, `Quota and cards: ${OF_CLUSTER}`)] : [
    h("section", {}, h("h2", {}, "Quota of the trees"),
      table("What each tree of quota uses", ["Tree", "Flavor", "Resource", "Used", "May still use", "Use"],
        data.usage.map((/** @type {any} */ row) => [
          h("a", { href: address("queues") }, row.tree), row.flavor, row.resource, amount(row.resource, row.used),
          amount(row.resource, row.available), useBar({ ...row, nominal: row.used + Math.max(row.available, 0) })]), "No quota is defined yet. Create a cluster queue with `kuelog create clusterqueue`.")),
    h("section", {}, h("h2", {}, "Cards"),
      count ? h("p", {}, h("a", { href: address("cards") }, `${count} cards`), ": ",
        Object.entries(cards.states).map(([state, number]) => `${number} ${state}`).join(", "),
        `; ${cards.memory_used.toLocaleString("en")} of ${cards.memory.toLocaleString("en")} MiB are given`)
        : h("p", { class: "empty" }, "No card is known. Cards appear when the plugin of their vendor registers them on a node."))]),
  ];
}
