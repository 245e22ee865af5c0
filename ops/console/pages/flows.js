// @ts-check
// What is borrowed, as flows: from those who leave their quota unused through the pool of the cohort to those who take it.

import { h, s } from "./dom.js";
import { amount } from "./format.js";
import { address } from "./place.js";

const WIDTH = 720;
const SIDE = 220;
const POOL = 16;
const GAP = 8;
const LEAST = 3;
const LINE = 18;
const HEIGHT = 72;
const LONGEST = 30;

/** @typedef {{node: string, amount: number}} Part */
/** @typedef {{cohort: string, flavor: string, resource: string, borrowed: number, gives: Part[], takes: Part[]}} Lending */

/** All that is borrowed. @param {Lending[]} all */
export function flows(all) {
  return h("section", { "aria-labelledby": "lending" }, h("h2", { id: "lending" }, "Borrowed and lent"),
    all.length
      ? [h("p", { class: "note" }, "What members of a cohort lend is one pool. A cohort's own quota is taken to serve first, then what members leave unused, in proportion, then the cohort above."), ...all.map(flow)]
      : h("p", { class: "empty" }, "Nobody borrows: every queue gets along with its own quota."));
}

/** @param {Lending} one */
function flow(one) {
  const words = `${amount(one.resource, one.borrowed)} ${one.resource} of ${one.flavor} are borrowed in cohort ${one.cohort}`;
  return h("figure", { class: "flow" }, h("figcaption", {}, words), drawn(one, words),
    h("ul", {},
      ...one.takes.map((part) => h("li", {}, named(part.node), ` borrows ${amount(one.resource, part.amount)}`)),
      ...one.gives.map((part) => h("li", {}, named(part.node), part.node === `cohort/${one.cohort}` ? ` owns ${amount(one.resource, part.amount)} of it` : ` lends ${amount(one.resource, part.amount)}`))));
}

/** @param {string} key */
function named(key) {
  const [kind, name] = [key.slice(0, key.indexOf("/")), key.slice(key.indexOf("/") + 1)];
  return kind === "queue" ? h("a", { href: address("workloads", [], { queue: name }), "data-row": true }, name) : h("span", {}, `cohort ${name}`);
}

/** @param {Lending} one @param {string} words */
function drawn(one, words) {
  const scale = HEIGHT / one.borrowed;
  const most = Math.max(one.gives.length, one.takes.length);
  const height = HEIGHT + most * LINE;
  const middle = (WIDTH - POOL) / 2;
  const pool = (height - HEIGHT) / 2;
  const side = (/** @type {Part[]} */ parts, /** @type {boolean} */ left) => {
    let outer = 0;
    let inner = pool;
    return parts.flatMap((part) => {
      const thick = Math.max(LEAST, part.amount * scale);
      const [from, to] = left ? [outer, inner] : [inner, outer];
      const [x1, x2] = left ? [SIDE, middle] : [middle + POOL, WIDTH - SIDE];
      const bend = (x1 + x2) / 2;
      const path = `M${x1} ${from} C${bend} ${from} ${bend} ${to} ${x2} ${to} V${to + thick} C${bend} ${to + thick} ${bend} ${from + thick} ${x1} ${from + thick} Z`;
      const label = `${part.node.replace("/", " ")}: ${amount(one.resource, part.amount)}`;
      const text = label.length > LONGEST ? `${label.slice(0, LONGEST - 1)}…` : label;
      const at = outer + Math.max(thick / 2 + 4, 12);
      outer += Math.max(thick, LINE) + GAP / 2;
      inner += thick;
      return [s("path", { class: left ? "gives" : "takes", d: path }, s("title", {}, label)),
        s("text", { class: "lane", x: left ? SIDE - GAP : WIDTH - SIDE + GAP, y: at, "text-anchor": left ? "end" : "start" }, text)];
    });
  };
  return s("svg", { width: WIDTH, height, viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": words },
    ...side(one.gives, true), s("rect", { class: "pool", x: middle, y: pool, width: POOL, height: HEIGHT }, s("title", {}, words)), ...side(one.takes, false));
}
