// Shows a card for each NodePool: limits and disruption budgets, refreshed every few seconds.

import { byId, drawn, element, money, renew } from "./dom.js";

const EVERY_MS = 5000;

export function follow() {
  refresh();
  setInterval(() => { if (!document.hidden) refresh(); }, EVERY_MS);
}

async function refresh() {
  try {
    const answer = await fetch("pools");
    if (answer.ok) show((await answer.json()).map(card));
  } catch { /* the event stream reports a lost connection */ }
}

const show = (cards) => renew(byId("cards"), cards.length ? cards : [element("p", { class: "quiet" }, "No NodePools.")]);

function card(pool) {
  const made = element("article", { "data-key": pool.name }, element("h3", {}, pool.name),
    element("p", { class: "quiet" }, `${pool.nodes} nodes, ${money(pool.pricePerHour, 4)} an hour, weight ${pool.weight}`));
  for (const problem of pool.problems) made.append(element("p", { class: "costs" }, problem));
  for (const limit of pool.limits) made.append(element("p", {}, `${limit.resource}: ${limit.used} of ${limit.limit}`), meter(limit));
  const { rows, pictures, warnings } = pool.budgets;
  for (const row of rows.slice(0, 4)) made.append(element("p", { class: "quiet" }, `${row.starts} to ${row.ends}: ${row.allowed} may be disrupted (${row.reasons})`));
  for (const picture of pictures) made.append(calendar(picture));
  for (const warning of warnings) made.append(element("p", { class: "costs" }, warning));
  return made;
}

function meter(limit) {
  const share = Math.min(1, limit.share);
  const bar = drawn("rect", { width: `${share * 100}%`, height: 8, class: limit.share > 0.9 ? "full" : "" });
  return element("div", { class: "meter", role: "meter", "aria-label": `${limit.resource} used`, "aria-valuemin": 0, "aria-valuemax": 1, "aria-valuenow": share.toFixed(2), "aria-valuetext": `${limit.used} of ${limit.limit}` },
    drawn("svg", { "aria-hidden": "true" }, bar));
}

function calendar(picture) {
  const days = picture.days.map(([day, cells]) => `${day} ${cells}`).join("\n");
  const legend = picture.legend.map(([cell, meaning]) => `${cell}  ${meaning}`).join("\n");
  return element("div", { class: "calendar", tabindex: 0, role: "img", "aria-label": `budget calendar for ${picture.reasons}` }, `${picture.reasons}, hour by hour\n${days}\n${legend}`);
}
