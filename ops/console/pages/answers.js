// @ts-check
// Asks the server. All addresses are relative, so the console works under any path.

export class Refused extends Error {}

/** Nobody knows any more who looks. */
export class SignedOut extends Refused {}

const UNKNOWN = 401;

/** Which log the server has, as it said last: an answer about a settled moment of a named log is kept for ever. */
let log = "";

/** The answer to a question as of the moment of the address. @param {string} path @param {URLSearchParams | Record<string, string>} query @param {AbortSignal} [signal] */
export async function ask(path, query, signal) {
  const wanted = new URLSearchParams(query);
  if (log && (wanted.get("at") || wanted.get("with"))) wanted.set("log", log);
  const text = wanted.toString();
  const answer = await fetch(`api/v1/${path}${text ? `?${text}` : ""}`, { signal });
  if (!answer.headers.get("Content-Type")?.startsWith("application/json")) throw new Refused(`The console failed on this question (${answer.status}); what it has logged says why.`);
  const found = await answer.json();
  if (answer.status === UNKNOWN) throw new SignedOut(found.message);
  if (!answer.ok) throw new Refused(found.message);
  log = found.as_of?.log ?? log;
  return found;
}

/** What is asked besides the page's own parameters. @param {URLSearchParams} query */
export function asOf(query) {
  const at = query.get("at");
  return at ? { at } : /** @type {Record<string, string>} */ ({});
}

/** Have something done. @param {string} method @param {string} path @param {unknown} [body] */
export async function send(method, path, body) {
  const answer = await fetch(`api/v1/${path}`, { method, headers: { "Content-Type": "application/json" }, body: body === undefined ? undefined : JSON.stringify(body) });
  const found = await answer.json();
  if (answer.status === UNKNOWN) throw new SignedOut(found.message);
  if (!answer.ok) throw new Refused(found.message);
  return found;
}
