// @ts-check
// Names as links: whatever is named leads to its own page, at the moment that is shown.

import { h } from "./dom.js";
import { address } from "./place.js";

/** A workload by its `namespace/name`; a name that is hidden, or none, stays text. @param {string} key */
export function workloadLink(key) {
  const parts = (key ?? "").split("/");
  return parts.length === 2 && parts.every(Boolean) ? h("a", { href: address("workloads", parts), "data-row": true }, key) : (key ?? "");
}

/** Several of them. @param {string[]} keys */
export function workloadLinks(keys) {
  return h("span", {}, keys.flatMap((key, index) => [index ? ", " : "", workloadLink(key)]));
}

/** A cluster queue, with the workloads in it. @param {string} name */
export function queueLink(name) {
  return name ? h("a", { href: address("workloads", [], { queue: name }) }, name) : "";
}
