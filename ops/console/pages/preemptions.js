// @ts-check
// Every preemption: who had to stop, for whom, by which rule, and what was lost.

import { ask, asOf } from "./answers.js";
import { h, table } from "./dom.js";
import { duration, hours, moment } from "./format.js";
import { queueLink, workloadLink, workloadLinks } from "./names.js";
import { moved } from "./place.js";

export const title = "Preemptions";

/** @param {HTMLElement} main @param {import("./place.js").Place} at @param {AbortSignal} signal */
export async function show(main, at, signal) {
  const load = async () => {
    const { data, as_of } = await ask("preemptions", asOf(at.query), signal);
    main.replaceChildren(h("h1", {}, title), ...parts(data));
    return { as_of, again: load, concerns: (/** @type {Set<string>} */ objects) => [...objects].some((one) => one.startsWith("workload/")) };
  };
  return load();
}

/** @param {any} data */
function parts(data) {
  const lost = data.cut_short.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.card_ms, 0);
  return [
    h("p", { class: "lead" }, `${data.preemptions.length} preemption(s); ${data.cut_short.length} attempt(s) were cut short and had held cards for ${hours(lost)} card-hours`),
    h("section", {}, h("h2", {}, "Who, and for whom"),
      table("Preemptions, the latest first", ["At", "Place", "Preempted", "For", "Of queue", "Why", "Rule", "Victims together"],
        [...data.preemptions].reverse().map((/** @type {any} */ one) => [
          h("a", { href: moved({ at: moment(one.at) }), title: "Show this page as of then" }, moment(one.at)), `${one.partition}/${one.sequence}`,
          workloadLink(one.workload), workloadLink(one.by), queueLink(one.preemptor_queue), one.reason, one.rule, workloadLinks(one.victims)]), "Nobody was preempted. A line appears here when a workload has to make room for another one.")),
    h("section", {}, h("h2", {}, "What was lost"),
      table("Attempts that were cut short, and what they had held of cards; the latest first", ["At", "Place", "Workload", "Queue", "Why", "For", "Cards held for", "Card-hours"],
        [...data.cut_short].reverse().map((/** @type {any} */ one) => [
          moment(one.at), one.place, workloadLink(one.workload), queueLink(one.queue), one.reason, workloadLink(one.preemptor), duration(one.card_ms), hours(one.card_ms)]), "No attempt that held cards was cut short.")),
  ];
}
