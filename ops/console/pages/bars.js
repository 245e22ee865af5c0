// @ts-check
// Amounts as bars: what is used of what is owned, what is borrowed beyond it.

import { s } from "./dom.js";
import { amount } from "./format.js";

const WIDTH = 240;
const HEIGHT = 12;

/** A bar of use against what is owned; borrowed use is drawn hatched behind the mark of the own quota.
 * @param {{resource: string, flavor: string, nominal: number, used: number, borrowed: number, available: number}} row */
export function useBar(row) {
  const own = row.used - row.borrowed;
  const open = row.available === -1 ? 0 : Math.max(0, row.available);
  const whole = Math.max(1, row.used + open, row.nominal);
  const at = (/** @type {number} */ units) => Math.round((units / whole) * WIDTH);
  const lent = row.borrowed ? `, ${amount(row.resource, row.borrowed)} of it borrowed` : "";
  const words = `${amount(row.resource, row.used)} used of ${amount(row.resource, row.nominal)}${lent}`;
  return s("svg", { class: "bar", width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words },
    s("title", {}, words),
    s("rect", { class: "room", width: WIDTH, height: HEIGHT }),
    s("rect", { class: "used", width: at(own), height: HEIGHT }),
    row.borrowed ? s("rect", { class: "borrowed", x: at(own), width: at(row.borrowed), height: HEIGHT }) : null,
    row.nominal > 0 ? s("line", { class: "mark", x1: at(row.nominal), x2: at(row.nominal), y1: 0, y2: HEIGHT }) : null);
}
