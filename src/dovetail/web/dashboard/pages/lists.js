// What was decided, who waits, and what is in use? Lists that grow at the top.

import { ago, byId, clock, element, money } from "./dom.js";
import { ask, decision } from "./detail.js";

const MOST = 300;

export function entries(more, isWhole) {
  const list = byId("timeline");
  if (isWhole) list.replaceChildren();
  for (const entry of more) list.prepend(line(entry));
  while (list.children.length > MOST) list.lastElementChild.remove();
}

function line(entry) {
  const { deed } = entry;
  const parts = [element("small", {}, clock(entry.at)), deed.title];
  if (deed.moneyPerHour) {
    const word = deed.moneyPerHour < 0 ? `saves ${money(-deed.moneyPerHour, 4)} an hour` : `${money(deed.moneyPerHour, 4)} an hour more`;
    parts.push(element("small", { class: deed.moneyPerHour < 0 ? "saves" : "costs" }, word));
  }
  if (deed.kind === "news") return element("li", {}, element("button", { type: "button", class: "news", disabled: true }, ...parts));
  return element("li", {}, element("button", { type: "button", class: deed.kind, onclick: () => decision(entry) }, ...parts));
}

export function waiting(pods, now) {
  const rows = pods.map((one) => {
    const why = one.summary || (one.goesTo ? `is to go to ${one.goesTo}` : "nothing is decided yet");
    const parts = [one.key, element("small", {}, `${one.since ? `${ago(one.since, now)}: ` : ""}${why}`)];
    if (one.fix) parts.push(element("small", {}, `What would help: ${one.fix}`));
    return element("li", {}, element("button", { type: "button", class: one.summary ? "stuck" : "", onclick: () => ask(`pod/${one.key}`) }, ...parts));
  });
  byId("waiting").replaceChildren(...(rows.length ? rows : [element("li", { class: "quiet" }, "Nobody waits.")]));
}

export function types(found) {
  byId("types").replaceChildren(...found.map((one) => element("tr", {},
    element("td", {}, one.instanceType || "unknown"), element("td", {}, one.capacityType), element("td", {}, one.zone),
    element("td", { class: "number" }, String(one.count)), element("td", { class: "number" }, money(one.pricePerHour, 4)),
    element("td", { class: "number" }, money(one.pricePerHour * one.count, 4)))));
}
