// @ts-check
// The clusters that workloads are sent to: which are reached, which queues lead there, who runs there and who is tried there.

import { ask, asOf } from "./answers.js";
import { h, table } from "./dom.js";
import { moment } from "./format.js";
import { queueLink, workloadLink } from "./names.js";
import { moved } from "./place.js";

export const title = "Clusters";

/** @param {HTMLElement} main @param {import("./place.js").Place} at @param {AbortSignal} signal */
export async function show(main, at, signal) {
  const load = async () => {
    const { data, as_of } = await ask("clusters", asOf(at.query), signal);
    main.replaceChildren(h("h1", {}, title), ...parts(data));
    return { as_of, again: load };
  };
  return load();
}

/** @param {any} data */
function parts(data) {
  if (!data.clusters.length && !data.checks.length) return [h("p", { class: "empty" }, "No workload is sent to another cluster. Create a MultiKueueCluster for each, a MultiKueueConfig that names them, and an AdmissionCheck of ", h("code", {}, "kueue.x-k8s.io/multikueue"), " that a ClusterQueue needs.")];
  const away = data.clusters.filter((/** @type {any} */ one) => !one.active).length;
  return [
    h("p", { class: "lead" }, `${data.clusters.length} cluster(s), ${away} not connected`),
    h("section", {}, h("h2", {}, "Which queues lead there"),
      table("Admission checks that send workloads to clusters", ["Check", "Stands", "Cluster queues", "Clusters"],
        data.checks.map((/** @type {any} */ one) => [
          one.name, one.active ? `${one.reason}: ${one.message}` : h("span", { class: "problem" }, `${one.reason}: ${one.message}`),
          listed(one.queues.map(queueLink)), listed(one.clusters)]), "No admission check leads to a cluster.")),
    ...data.clusters.map(cluster),
  ];
}

/** @param {any[]} found */
function listed(found) {
  return h("span", {}, found.length ? found.flatMap((one, index) => (index ? [", ", one] : [one])) : "none");
}

/** @param {any} one */
function cluster(one) {
  const since = one.since ? ` since ${moment(one.since)}` : "";
  const stands = !one.known ? "there is no MultiKueueCluster of this name" : one.active ? `connected${since}` : `not connected${since}`;
  return h("section", { "aria-label": one.name },
    h("h2", {}, one.name),
    h("p", { class: one.active ? undefined : "problem" }, `${stands}${one.location ? `; kubeconfig in ${one.location}` : ""}; ${one.runs.length} workload(s) run there, ${one.tried.length} tried there`),
    one.runs.length ? sent(`Workloads that run in ${one.name}`, one.runs, true) : null,
    one.tried.length ? sent(`Workloads that are tried in ${one.name}`, one.tried, false) : null);
}

/** @param {string} caption @param {any[]} rows @param {boolean} chosen */
function sent(caption, rows, chosen) {
  return table(caption, ["Workload", "The cluster answers", ...(chosen ? ["Chosen at"] : [])],
    rows.map((one) => [workloadLink(one.workload), one.answer, ...(chosen ? [h("a", { href: moved({ at: one.decision }), title: "Show this page as of then" }, one.decision)] : [])]), "");
}
