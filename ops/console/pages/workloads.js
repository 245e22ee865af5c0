// @ts-check
// All workloads, filtered and sorted on the server; only the rows in view are asked for and drawn.

import { ask, asOf } from "./answers.js";
import { h } from "./dom.js";
import { duration } from "./format.js";
import { address, moved } from "./place.js";

export const title = "Workloads";

const ROW = 28;
const PART = 100;
/** @type {[string, string][]} */
const COLUMNS = [["key", "Workload"], ["queue", "Local queue"], ["cluster_queue", "Cluster queue"], ["priority", "Priority"], ["state", "State"], ["since", "For"], ["preempted", "Preempted"]];
const TYPING_MS = 250;

/** @param {HTMLElement} main @param {import("./place.js").Place} at @param {AbortSignal} signal */
export async function show(main, at, signal) {
  /** @type {Map<number, any[]>} */
  const parts = new Map();
  /** @type {any} */
  let last = { data: { found: 0, total: 0, states: {} }, as_of: {} };
  const wanted = { ...asOf(at.query), ...Object.fromEntries(["text", "state", "queue", "sort"].flatMap((name) => (at.query.get(name) ? [[name, at.query.get(name)]] : []))) };
  const inner = h("div", { class: "virtual", role: "presentation" });
  const view = h("div", { class: "view", role: "rowgroup", tabindex: 0, "aria-label": "Rows of workloads" }, inner);
  const counts = h("p", { role: "status", class: "counts" });
  const grid = h("div", { role: "table", class: "grid", "aria-label": title }, header(at.query.get("sort") ?? "key"), view);

  /** @param {number} number */
  const load = async (number) => {
    last = await ask("workloads", { ...wanted, offset: String(number * PART), limit: String(PART) }, signal);
    parts.set(number, last.data.workloads);
    const { found, total, states } = last.data;
    const by = Object.entries(states).map(([state, count]) => `${count} ${state}`).join(", ");
    counts.textContent = found === total ? `${total} workloads${by ? `: ${by}` : ""}` : `${found} of ${total} workloads; ${by}`;
    inner.style.height = `${found * ROW}px`;
    grid.setAttribute("aria-rowcount", String(found + 1));
  };
  const visible = () => {
    const first = Math.floor(view.scrollTop / ROW);
    return [first, Math.min(last.data.found, first + Math.ceil(view.clientHeight / ROW) + 2)];
  };
  const draw = () => {
    const [first, end] = visible();
    const focused = document.activeElement?.getAttribute("href");
    const rows = [];
    for (let index = first; index < end; index += 1) {
      const row = parts.get(Math.floor(index / PART))?.[index % PART];
      rows.push(line(row, index, last.as_of.at));
    }
    inner.replaceChildren(...(last.data.found ? rows : [empty(last.data.total)]));
    if (focused) /** @type {HTMLElement | null} */ (inner.querySelector(`[href="${CSS.escape(focused)}"]`))?.focus({ preventScroll: true });
  };
  /** @param {boolean} anew */
  const fill = async (anew) => {
    const [first, end] = visible();
    const numbers = [...new Set([Math.floor(first / PART), Math.floor(Math.max(0, end - 1) / PART)])];
    if (anew) for (const known of parts.keys()) if (!numbers.includes(known)) parts.delete(known);
    for (const number of numbers) if (anew || !parts.has(number)) await load(number);
    draw();
    return { as_of: last.as_of, again: () => fill(true), concerns };
  };
  main.replaceChildren(h("h1", {}, title), filters(at), counts, grid);
  view.addEventListener("scroll", () => { draw(); void fill(false).catch(() => undefined); });
  return fill(true);
}

/** @param {Set<string>} objects */
function concerns(objects) {
  return [...objects].some((one) => one.startsWith("workload/"));
}

/** @param {string} sort */
function header(sort) {
  return h("div", { role: "row", class: "row head", "aria-rowindex": 1 }, COLUMNS.map(([key, name]) => {
    const now = sort.replace(/^-/, "") === key;
    const down = sort.startsWith("-");
    return h("span", { role: "columnheader", "aria-sort": now ? (down ? "descending" : "ascending") : "none" },
      h("a", { href: moved({ sort: now && !down ? `-${key}` : key }) }, name, now ? (down ? " ▼" : " ▲") : ""));
  }));
}

/** @param {any} row @param {number} index @param {number} now */
function line(row, index, now) {
  const element = h("div", { role: "row", class: "row", "aria-rowindex": index + 2 });
  element.style.top = `${index * ROW}px`;
  if (!row) {
    element.append("…");
    return element;
  }
  const link = h("a", { href: address("workloads", row.key.split("/")), "data-row": true }, row.key);
  const cells = [link, row.queue, row.cluster_queue, String(row.priority), [row.state, row.reason].filter(Boolean).join(": "), duration(now - row.since), row.preempted ? `${row.preempted} ×` : ""];
  element.append(...cells.map((cell) => h("span", { role: "cell", title: typeof cell === "string" ? cell : row.key }, cell)));
  return element;
}

/** A row that says why there is none. @param {number} total */
function empty(total) {
  const said = total
    ? ["No workload is as the filter says. ", h("a", { href: moved({ text: "", state: "", queue: "" }) }, "Clear it")]
    : ["There is no workload. A job with a queue name appears here when it is submitted."];
  return h("div", { role: "row", "aria-rowindex": 2 }, h("span", { role: "cell", class: "empty" }, said));
}

/** @param {import("./place.js").Place} at */
function filters(at) {
  const field = (/** @type {string} */ id, /** @type {string} */ name, /** @type {string} */ label) => {
    const input = /** @type {HTMLInputElement} */ (h("input", { id, value: at.query.get(name) ?? "", type: "search", spellcheck: "false" }));
    let later = 0;
    input.addEventListener("input", () => {
      clearTimeout(later);
      later = window.setTimeout(() => {
        location.hash = moved({ [name]: input.value.trim() });
        window.setTimeout(() => {
          const again = /** @type {HTMLInputElement | null} */ (document.getElementById(id));
          again?.focus();
          again?.setSelectionRange(again.value.length, again.value.length);
        });
      }, TYPING_MS);
    });
    return [h("label", { for: id }, label), input];
  };
  return h("div", { class: "filters", role: "search" }, field("search", "text", "Name, queue or reason"), field("state", "state", "State"), field("queue", "queue", "Cluster queue"));
}
