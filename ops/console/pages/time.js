// @ts-check
// The time slider: the whole time of the log with how much happened when, moved by hand, by steps, or played.

import { ask } from "./answers.js";
import { s } from "./dom.js";
import { moment } from "./format.js";
import { moved, place } from "./place.js";

const STEPS = 1000;
const PLAYED = 60;
const HEIGHT = 24;
const SETTLES_MS = 250;
const PAUSE_MS = 400;
/** @type {{began: number, ended: number, parts: number[]}} */
let time = { began: 0, ended: 0, parts: [] };
let playing = false;
let later = 0;

/** @param {string} id */
const element = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));

/** The moment of a place of the slider. @param {number} value */
const momentOf = (value) => Math.round(time.began + (value / STEPS) * (time.ended - time.began));

/** Ask how far the log goes by now, and draw it. */
export async function measure() {
  time = (await ask("time", {})).data;
  const most = Math.max(1, ...time.parts);
  const words = `${time.parts.reduce((sum, one) => sum + one, 0)} messages from ${moment(time.began)} to ${moment(time.ended)}`;
  element("strip").replaceChildren(s("svg", { viewBox: `0 0 ${time.parts.length} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": words },
    s("title", {}, words),
    time.parts.map((count, index) => s("rect", { class: "density", x: index, width: 1, y: HEIGHT - Math.ceil((count / most) * HEIGHT), height: Math.ceil((count / most) * HEIGHT) }))));
}

/** Put the slider where the page stands. @param {number} at @param {boolean} live */
export function showTime(at, live) {
  const slider = element("slider");
  const length = time.ended - time.began;
  slider.value = String(live || !length ? STEPS : Math.round(((at - time.began) / length) * STEPS));
  slider.setAttribute("aria-valuetext", live ? "now" : moment(at));
}

/** Move to a place of the slider; the end of the log is live. @param {number} value */
function go(value) {
  const at = Math.min(STEPS, Math.max(0, value));
  location.replace(moved({ at: at >= STEPS ? "" : moment(momentOf(at)) }));
}

/** @param {boolean} value */
function play(value) {
  playing = value;
  element("play").setAttribute("aria-pressed", String(value));
  if (!value) return;
  if (Number(element("slider").value) >= STEPS) go(0);
  else played();
}

/** A page is shown: go on to the next moment when it is played. */
export function played() {
  if (!playing) return;
  if (!place().query.get("at") && Number(element("slider").value) >= STEPS) {
    play(false);
    return;
  }
  clearTimeout(later);
  later = window.setTimeout(() => { if (playing) go(Number(element("slider").value) + STEPS / PLAYED); }, PAUSE_MS);
}

/** Bind the slider, its buttons and the moment that is compared with. */
export function bindTime() {
  const slider = element("slider");
  slider.max = String(STEPS);
  slider.addEventListener("input", () => {
    slider.setAttribute("aria-valuetext", moment(momentOf(Number(slider.value))));
    element("at").value = moment(momentOf(Number(slider.value)));
    clearTimeout(later);
    later = window.setTimeout(() => go(Number(slider.value)), SETTLES_MS);
  });
  element("back").addEventListener("click", () => go(Number(slider.value) - STEPS / PLAYED));
  element("forth").addEventListener("click", () => go(Number(slider.value) + STEPS / PLAYED));
  element("play").addEventListener("click", () => play(!playing));
  element("compare").addEventListener("click", compare);
}

/** Compare with the moment that is shown from now on, or with none any more. */
export function compare() {
  const now = place().query;
  location.hash = moved({ with: now.get("with") ? "" : now.get("at") || moment(momentOf(Number(element("slider").value))) });
}
