// @ts-check
// Who looks, and signing in and out. The token is sent once and kept nowhere here: a cookie that no script reads stands for it.

import { h } from "./dom.js";

/** @typedef {{reviewed: boolean, user: string, groups: string[], namespaces: string[] | null, queues: boolean, signs_in: boolean, problem: string}} Said */

const PLACE = "api/v1/session";

/** Who looks, and what they may read. @returns {Promise<Said>} */
export async function whoLooks() {
  const answer = await fetch(PLACE);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.message);
  return found;
}

/** What stands in the head of each page about who looks. @param {HTMLElement} where @param {Said} said */
export function showWho(where, said) {
  if (!said.reviewed || !said.user) {
    where.replaceChildren();
    return;
  }
  const of = said.namespaces === null ? "all workloads" : said.namespaces.length ? `workloads of ${said.namespaces.join(", ")}` : "no workloads";
  where.replaceChildren(h("span", { title: said.groups.join(", ") }, `${said.user}: ${of}${said.queues ? ", queues and cards" : ""}`),
    said.signs_in ? h("button", { type: "button", id: "leave", click: leave }, "Sign out") : "");
}

/** @param {HTMLElement} main @param {Said} said */
export function showSignIn(main, said) {
  document.title = "Sign in · kuelog";
  const problem = h("p", { class: "problem", role: "alert" }, said.signs_in ? "" : said.problem);
  if (!said.signs_in) {
    main.replaceChildren(h("h1", {}, "Not signed in"), problem);
    return;
  }
  const token = /** @type {HTMLInputElement} */ (h("input", { id: "token", type: "password", size: 48, autocomplete: "off", required: true }));
  const form = h("form", { class: "filters" }, h("label", { for: "token" }, "Bearer token"), token, h("button", {}, "Sign in"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void enter(token.value.trim()).then((why) => { problem.textContent = why; });
  });
  main.replaceChildren(h("h1", {}, "Sign in"),
    h("p", {}, "You are shown what Kubernetes lets you list. A token is made by ", h("code", {}, "kubectl create token NAME"), ", or is your own."), form, problem);
  token.focus();
}

/** Sign in; why not, where that fails. @param {string} token */
async function enter(token) {
  const answer = await fetch(PLACE, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }) });
  if (!answer.ok) return (await answer.json()).message;
  location.reload();
  return "";
}

async function leave() {
  await fetch(PLACE, { method: "DELETE" });
  location.reload();
}
