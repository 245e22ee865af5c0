// @ts-check
// The only place that makes elements: text is always text, never markup.

/** In place of what is of the whole cluster, for who may not read that. */
export const OF_CLUSTER = "This is shown to who may list clusterqueues.kueue.x-k8s.io.";

const SVG = "http://www.w3.org/2000/svg";

/** @param {Element} element @param {Record<string, unknown>} attributes @param {unknown[]} children */
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, /** @type {EventListener} */ (value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, String(value));
  }
  element.append(...children.flat().filter((one) => one !== null && one !== undefined && one !== "").map((one) => (one instanceof Node ? one : String(one))));
  return element;
}

/** An element of HTML. @param {string} tag @param {Record<string, unknown>} [attributes] @param {...unknown} children */
export function h(tag, attributes = {}, ...children) {
  return /** @type {HTMLElement} */ (filled(document.createElement(tag), attributes, children));
}

/** An element of SVG. @param {string} tag @param {Record<string, unknown>} [attributes] @param {...unknown} children */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** Rows that a table shows at first, and more of each time that somebody asks. */
const AT_ONCE = 500;
/** By caption, how many rows somebody wanted to see. @type {Map<string, number>} */
const wanted = new Map();

/** A table that tells readers what it is of; of many rows it shows the first, and more when it is asked to. @param {string} caption @param {string[]} heads @param {unknown[][]} rows @param {string} empty */
export function table(caption, heads, rows, empty) {
  if (!rows.length) return h("p", { class: "empty" }, empty);
  const body = h("tbody");
  const more = h("p", { class: "counts", role: "status" });
  const show = () => {
    const most = wanted.get(caption) ?? AT_ONCE;
    body.append(...rows.slice(body.childElementCount, most).map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell)))));
    more.replaceChildren(...(rows.length > most
      ? [`${most} of ${rows.length} rows `, h("button", { type: "button", click: () => { wanted.set(caption, most + AT_ONCE); show(); (more.querySelector("button") ?? body.querySelector("a"))?.focus(); } }, `Show ${Math.min(AT_ONCE, rows.length - most)} more`)]
      : []));
  };
  show();
  return h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))), body), more);
}
