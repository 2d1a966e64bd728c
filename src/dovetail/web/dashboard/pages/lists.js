// Shows the lists of decisions, pending pods and instance types in use.

import { ago, byId, clock, element, money, price, renew } from "./dom.js";
import { ask, decision } from "./detail.js";

const MOST = 300;
const WAITS_ARE_TOLD_EVERY_MS = 2000;
let waiters = [];
let nextLookAt = 0;

export function entries(more, isWhole) {
  const list = byId("timeline");
  if (isWhole) renew(list, more.map(line).reverse());
  else for (const entry of more) list.prepend(line(entry));
  while (list.children.length > MOST) list.lastElementChild.remove();
  byId("undecided").hidden = list.children.length > 0;
}

function line(entry) {
  const { deed } = entry;
  const parts = [element("small", {}, clock(entry.at)), deed.title];
  if (deed.moneyPerHour) {
    const word = deed.moneyPerHour < 0 ? `saves ${money(-deed.moneyPerHour, 4)} an hour` : `${money(deed.moneyPerHour, 4)} an hour more`;
    parts.push(element("small", { class: deed.moneyPerHour < 0 ? "saves" : "costs" }, word));
  }
  const key = `${entry.at} ${entry.number} ${deed.place} ${deed.title}`;
  if (deed.kind === "news") return element("li", { "data-key": key }, element("p", { class: "news" }, ...parts));
  return element("li", { "data-key": key }, element("button", { type: "button", class: deed.kind, onclick: () => decision(entry) }, ...parts));
}

export function waiting(pods, now) {
  if (pods) waiters = pods;
  if (!pods && performance.now() < nextLookAt) return;
  nextLookAt = performance.now() + WAITS_ARE_TOLD_EVERY_MS;
  const rows = waiters.map((one) => waiter(one, now));
  renew(byId("waiting"), rows.length ? rows : [element("li", { class: "quiet" }, "No pending pods.")]);
}

function waiter(one, now) {
  const why = one.summary || (one.goesTo ? `planned onto ${one.goesTo}, which is not ready yet` : "no decision yet");
  const parts = [one.key, element("small", {}, `${one.since ? `for ${ago(one.since, now)}: ` : ""}${why}`)];
  if (one.fix) parts.push(element("small", {}, `What would help: ${one.fix}`));
  const button = element("button", { type: "button", class: one.summary ? "stuck" : "", onclick: () => ask(`pod/${one.key}`) }, ...parts);
  return element("li", { "data-key": one.key }, button);
}

export function types(found) {
  renew(byId("types"), found.map((one) => element("tr", {},
    element("td", {}, one.instanceType || "unknown"), element("td", {}, one.capacityType || "unknown"), element("td", {}, one.zone || "unknown"),
    element("td", { class: "number" }, String(one.count)), element("td", { class: "number" }, price(one.pricePerHour)),
    element("td", { class: "number" }, price(one.pricePerHour * one.count)))));
}
