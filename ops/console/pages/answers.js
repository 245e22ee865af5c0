// @ts-check
// Asks the server. All addresses are relative, so the console works under any path.

export class Refused extends Error {}

/** The answer to a question as of the moment of the address. @param {string} path @param {URLSearchParams | Record<string, string>} query @param {AbortSignal} [signal] */
export async function ask(path, query, signal) {
  const text = new URLSearchParams(query).toString();
  const answer = await fetch(`api/v1/${path}${text ? `?${text}` : ""}`, { signal });
  const found = await answer.json();
  if (!answer.ok) throw new Refused(found.message);
  return found;
}

/** What is asked besides the page's own parameters. @param {URLSearchParams} query */
export function asOf(query) {
  const at = query.get("at");
  return at ? { at } : /** @type {Record<string, string>} */ ({});
}
