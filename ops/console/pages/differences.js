// @ts-check
// Two moments side by side: which rows came, which went, and which fields of the others differ.

import { ask } from "./answers.js";
import { h, table } from "./dom.js";
import { amount, moment } from "./format.js";
import { moved } from "./place.js";

/** @type {Record<string, string[]>} */
const OF_PAGES = { queues: ["queues", "usage"], workloads: ["workloads"], cards: ["cards"] };
const WORDS = { workloads: "Workloads", queues: "Queues", usage: "Use of quota", cards: "Cards" };

/** What differs between the moment to compare with and the one that is shown. @param {HTMLElement} where @param {import("./place.js").Place} at @param {AbortSignal} signal */
export async function differ(where, at, signal) {
  const before = at.query.get("with");
  if (!before) {
    where.replaceChildren();
    return;
  }
  const { data } = await ask("differences", { at: before, with: at.query.get("at") ?? "" }, signal);
  const kinds = Object.entries(data.kinds).filter(([name]) => (OF_PAGES[at.page] ?? Object.keys(WORDS)).includes(name));
  where.replaceChildren(h("section", { "aria-labelledby": "differ" },
    h("h2", { id: "differ" }, `What differs: ${moment(data.before.at)} and ${moment(data.after.at)}`),
    h("p", {}, h("a", { href: moved({ with: "" }) }, "Compare no more")),
    kinds.map(([name, kind]) => part(WORDS[/** @type {keyof typeof WORDS} */ (name)], kind, name === "usage"))));
}

/** @param {string} title @param {any} kind @param {boolean} amounts Whether numbers are amounts of the resource that a key ends with. */
function part(title, kind, amounts) {
  const plain = (/** @type {string} */ key, /** @type {string} */ field, /** @type {unknown} */ value) => {
    if (field === "since") return moment(Number(value));
    if (typeof value === "number" && amounts) return amount(key.split(" ").at(-1) ?? "", value);
    return typeof value === "object" ? JSON.stringify(value) : String(value);
  };
  const rows = [
    ...kind.came.map((/** @type {string} */ key) => [key, "came", "", ""]),
    ...kind.gone.map((/** @type {string} */ key) => [key, "gone", "", ""]),
    ...kind.changed.flatMap((/** @type {any} */ one) => Object.entries(one.fields).map(([field, [old, now]]) => [one.key, field, plain(one.key, field, old), plain(one.key, field, now)])),
  ];
  const { came, gone, changed } = kind.counts;
  return h("div", {}, h("h3", {}, title), h("p", {}, `${came} came, ${gone} gone, ${changed} changed`),
    rows.length ? table(`${title} that differ`, ["Object", "What", "Before", "After"], rows, "") : null);
}
