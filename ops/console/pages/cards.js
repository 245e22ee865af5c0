// @ts-check
// Cards as a map: each a bar of its memory with a slice for each holder, by node.

import { ask, asOf } from "./answers.js";
import { h, s, table } from "./dom.js";
import { address, moved } from "./place.js";

export const title = "Cards";

const WIDTH = 320;
const HEIGHT = 18;
const TONES = 8;

/** @param {HTMLElement} main @param {import("./place.js").Place} at @param {AbortSignal} signal */
export async function show(main, at, signal) {
  const load = async () => {
    const query = { ...asOf(at.query), node: at.query.get("node") ?? "", model: at.query.get("model") ?? "" };
    const { data, as_of } = await ask("cards", query, signal);
    main.replaceChildren(h("h1", {}, title), ...parts(data));
    return { as_of, again: load };
  };
  return load();
}

/** @param {any} data */
function parts(data) {
  if (!data.cards.length && data.claimable.length) return claimed(data.claimable);
  if (!data.cards.length) return [h("p", { class: "empty" }, "No card is known here. Cards appear when the plugin of their vendor registers them on a node. "), h("a", { href: moved({ node: "", model: "" }) }, "All cards")];
  /** @type {Map<string, any[]>} */
  const nodes = new Map();
  for (const card of data.cards) nodes.set(card.node, [...(nodes.get(card.node) ?? []), card]);
  const tones = new Map([...new Set(data.cards.flatMap((/** @type {any} */ card) => card.slices.map((/** @type {any} */ one) => one.holder)))].sort().map((holder, index) => [holder, index % TONES]));
  return [
    h("p", {}, `${data.cards.length} card(s) on ${nodes.size} node(s); ${tones.size} holder(s). A slice is a part of the memory; its holder is named beside it.`),
    ...data.locks.map((/** @type {string} */ lock) => h("p", { class: "problem" }, lock)),
    ...[...nodes].map(([node, cards]) => h("section", { class: "node" }, h("h2", {}, h("a", { href: moved({ node }) }, node)), cards.map((card) => drawn(card, tones)))),
    ...claimed(data.claimable),
  ];
}

/** The devices of ResourceSlices, and who has them by which claim. @param {any[]} devices */
function claimed(devices) {
  if (!devices.length) return [];
  const heads = ["node", "driver", "pool", "device", "state", "held by", "claim"];
  const rows = devices.map((one) => [one.node || "several", one.driver, one.pool, one.device, one.state,
    one.holders.map((/** @type {any} */ holder) => holder.workload
      ? h("a", { href: address("workloads", holder.workload.split("/")), "data-row": true }, `${holder.holder} `) : `${holder.holder} `),
    one.holders.map((/** @type {any} */ holder) => holder.claim).join(", ")]);
  return [table("Devices that pods claim, and who holds them", heads, rows, "")];
}

/** @param {any} card @param {Map<string, number>} tones */
function drawn(card, tones) {
  const words = `card ${card.index}, ${card.model}: ${card.memory_used} of ${card.memory} MiB, ${card.cores_used} of ${card.cores} cores, ${card.slots_used} of ${card.slots} slots; ${card.state}`;
  let from = 0;
  const slices = card.slices.map((/** @type {any} */ one) => {
    const width = Math.round((one.memory / Math.max(1, card.memory)) * WIDTH);
    const part = s("rect", { class: `slice tone-${tones.get(one.holder)}`, x: from, width, height: HEIGHT }, s("title", {}, `${one.holder}: ${one.memory} MiB, ${one.cores} cores`));
    from += width;
    return part;
  });
  return h("figure", { class: card.state === "ok" ? "card" : "card out" },
    h("figcaption", {}, words),
    s("svg", { width: WIDTH, height: HEIGHT + 6, viewBox: `0 0 ${WIDTH} ${HEIGHT + 6}`, role: "img", "aria-label": words },
      s("rect", { class: "room", width: WIDTH, height: HEIGHT }), ...slices,
      s("rect", { class: "cores", y: HEIGHT + 2, width: Math.round((card.cores_used / Math.max(1, card.cores)) * WIDTH), height: 4 })),
    card.slices.length ? h("ul", {}, card.slices.map((/** @type {any} */ one) => h("li", {},
      h("span", { class: `key tone-${tones.get(one.holder)}`, "aria-hidden": "true" }),
      one.workload ? h("a", { href: address("workloads", one.workload.split("/")), "data-row": true }, one.holder) : one.holder, ` ${one.memory} MiB`))) : null);
}
