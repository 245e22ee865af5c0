// @ts-check
// The keyboard: what each key does, and the list of them.

import { h } from "./dom.js";
import { address } from "./place.js";

/** @type {[string, string][]} */
const WORDS = [
  ["?", "these keys"], ["/", "search"], ["t", "type a moment"], ["l", "live"], ["p", "pause, or go on"], ["c", "compare with this moment, or no more"],
  ["g o", "overview"], ["g q", "queues"], ["g w", "workloads"], ["g c", "cards"], ["g n", "topology"], ["g k", "clusters"], ["g t", "Gantt"], ["g p", "preemptions"], ["g b", "bills"], ["g i", "what if"], ["g l", "log"],
  ["j, k", "next and previous row"], ["Enter", "open the row"], ["y", "copy the address"],
];
/** @type {Record<string, string>} */
const PAGES = { o: "overview", q: "queues", w: "workloads", c: "cards", n: "topology", k: "clusters", t: "gantt", p: "preemptions", b: "bills", i: "whatif", l: "log" };

/** @param {{compare: () => void, live: () => void, pause: () => void}} does */
export function bind(does) {
  const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("help"));
  const single = () => localStorage.getItem("kuelog.keys") !== "off";
  const box = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", id: "single", checked: single() }));
  box.addEventListener("change", () => localStorage.setItem("kuelog.keys", box.checked ? "on" : "off"));
  dialog.append(
    h("h2", { id: "help-title" }, "Keys"),
    h("dl", {}, WORDS.flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
    h("p", {}, box, h("label", { for: "single" }, " single letters do something")),
    h("form", { method: "dialog" }, h("button", {}, "Close")));
  const help = () => dialog.showModal();
  document.getElementById("keys")?.addEventListener("click", help);
  let went = false;
  document.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open || !single()) return;
    if (target.matches("input, select, textarea")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    const page = went ? PAGES[event.key] : undefined;
    went = event.key === "g";
    /** @type {Record<string, () => void>} */
    const actions = {
      "?": help, "/": () => focus("search"), t: () => focus("at"), l: does.live, c: does.compare, p: does.pause,
      j: () => step(1), k: () => step(-1), y: () => void navigator.clipboard.writeText(location.href),
    };
    const action = page ? () => { location.hash = address(page); } : actions[event.key];
    if (action) {
      event.preventDefault();
      action();
    }
  });
}

/** @param {string} id */
function focus(id) {
  document.getElementById(id)?.focus();
}

/** @param {number} by */
function step(by) {
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("#main [data-row]")]);
  if (!rows.length) return;
  const now = rows.findIndex((row) => row === document.activeElement);
  rows[Math.min(rows.length - 1, Math.max(0, now + by))].focus();
}
