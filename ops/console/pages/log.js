// @ts-check
// The log itself: how far it goes, who wrote what of it last, what does not count, and what services have set aside.

import { ask, asOf } from "./answers.js";
import { h, table } from "./dom.js";
import { moment } from "./format.js";

export const title = "Log";

/** @param {HTMLElement} main @param {import("./place.js").Place} at @param {AbortSignal} signal */
export async function show(main, at, signal) {
  const load = async () => {
    const { data, as_of } = await ask("log", asOf(at.query), signal);
    main.replaceChildren(h("h1", {}, title), ...parts(data));
    return { as_of, again: load };
  };
  return load();
}

/** @param {any} data */
function parts(data) {
  const wrong = data.marked.length + data.set_aside.length;
  return [
    h("p", { class: wrong ? "problem" : "lead" }, wrong ? `${data.marked.length} message(s) do not count as they stand; ${data.set_aside.length} object(s) are set aside` : "Every message counts as it stands, and nothing is set aside."),
    h("p", {}, "Whether the log is still what was signed is said by ", h("code", {}, "kuelog audit verify"), "; whether every decision comes out again by ", h("code", {}, "kuelog replay --verify"), "."),
    h("section", {}, h("h2", {}, "Streams"), table("Streams of the log", ["Stream", "Last sequence"], data.streams.map((/** @type {any} */ one) => [one.stream, one.last]), "")),
    h("section", {}, h("h2", {}, "Services"), table("Who wrote what, and when last", ["Author", "Stream", "Events", "Last sequence", "At"], data.authors.map((/** @type {any} */ one) => [one.author || "unknown", one.stream, one.events, one.sequence, moment(one.at)]), "Nobody has written anything yet. The services write it: `kuelog up` on this machine, `kuelog deploy` in a cluster.")),
    h("section", {}, h("h2", {}, "How far decisions had read"), table("Inputs that the last decision of each partition rests on", ["Partition", "Input", "Folded", "Its end", "Behind"], data.inputs.map((/** @type {any} */ one) => [one.partition, one.stream, one.folded, one.last, one.last - one.folded]), "")),
    h("section", {}, h("h2", {}, "What does not count"), table("Messages that do not count as they stand", ["Stream", "Sequence", "Why"], data.marked.map((/** @type {any} */ one) => [one.stream, one.sequence, one.mark]), "Every message counts.")),
    h("section", {}, h("h2", {}, "Set aside"), table("Objects that a service failed on", ["Service", "Kind", "Name", "Why", "Since"], data.set_aside.map((/** @type {any} */ one) => [one.service, one.scope, one.name, one.reason, moment(one.since)]), "Nothing is set aside.")),
  ];
}
