// @ts-check
// The only place that knows the address: which page, of which moment, with which filter. A link is evidence.

/** @typedef {{page: string, rest: string[], query: URLSearchParams}} Place */

/** Where the address stands: `#/workloads/NS/NAME?at=+90s`. @returns {Place} */
export function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [page, ...rest] = path.split("/").map(decoded);
  return { page: page || "overview", rest, query: new URLSearchParams(query ?? "") };
}

/** A part of an address; one that says nothing stays as it is. @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** An address of a page at the same moment. @param {string} page @param {string[]} [rest] @param {Record<string, string>} [more] */
export function address(page, rest = [], more = {}) {
  const query = new URLSearchParams(more);
  for (const name of ["at", "with"]) {
    const kept = place().query.get(name);
    if (kept && !(name in more)) query.set(name, kept);
  }
  const text = query.toString();
  return `#/${[page, ...rest].map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** The same page with other parameters; empty ones are left out. @param {Record<string, string>} changed */
export function moved(changed) {
  const { page, rest, query } = place();
  for (const [name, value] of Object.entries(changed)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  return `#/${[page, ...rest].map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}
