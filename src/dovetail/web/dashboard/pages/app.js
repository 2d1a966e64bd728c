// What does the page do? It listens, and shows what it hears.

import { byId, clock, element, money, percent } from "./dom.js";
import * as lists from "./lists.js";
import * as picture from "./picture.js";
import * as plots from "./plots.js";
import * as pools from "./pools.js";

const TEMPOS = [[0, "❚❚", "stand still"], [1, "1×", "real time"], [60, "60×", "a minute a second"], [480, "480×", "a day in three minutes"], [1440, "1440×", "a day in a minute"]];
const LEGEND = [["running", "running"], ["starting", "starting"], ["leaving", "leaving"], ["daemon", "daemon"], ["", "room left"]];

function hear(change) {
  byId("clock").textContent = `${clock(change.now)} UTC`;
  if (change.isWhole) picture.forget();
  picture.show(change.nodes || [], change.gone || []);
  lists.entries(change.entries || [], change.isWhole);
  if (change.waiting) lists.waiting(change.waiting, change.now);
  if (change.types) lists.types(change.types);
  plots.add(change.samples || [], change.isWhole);
  tiles(change.totals);
  tempo(change.tempo);
  if (!change.isWhole) announce(change.entries || []);
}

function tiles(totals) {
  const gap = totals.targetPerHour ? `${((totals.pricePerHour / totals.targetPerHour - 1) * 100).toFixed(1)} %` : "–";
  const figures = [["nodes", totals.nodes], ["pods on them", totals.pods], ["pods that wait", totals.waiting], ["per hour", money(totals.pricePerHour)],
    ["per month", money(totals.pricePerHour * 730, 0)], ["above the bound", gap], ["cpu asked for", percent(totals.cpuUtilisation)], ["memory asked for", percent(totals.memoryUtilisation)]];
  byId("tiles").replaceChildren(...figures.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", { "data-figure": name }, String(value)))));
}

function announce(fresh) {
  if (fresh.length) byId("announcer").textContent = fresh.at(-1).deed.title;
}

function tempo(rate) {
  const group = byId("tempo");
  if (rate === undefined || rate === null) return;
  group.hidden = false;
  if (!group.children.length) {
    group.append(...TEMPOS.map(([value, word, meaning]) => element("button", { type: "button", "data-rate": value, "aria-label": meaning, title: meaning, onclick: () => setTempo(value) }, word)));
  }
  for (const one of group.children) one.setAttribute("aria-pressed", String(Number(one.dataset.rate) === rate));
}

const setTempo = (rate) => fetch("tempo", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ rate }) });

function listen() {
  const source = new EventSource("stream");
  source.onopen = () => { byId("connection").textContent = "live"; };
  source.onerror = () => { byId("connection").textContent = "not connected, trying again"; };
  source.onmessage = (message) => {
    const start = performance.now();
    hear(JSON.parse(message.data));
    performance.measure("heard", { start });
    if (performance.getEntriesByName("heard").length > 100) performance.clearMeasures("heard");
  };
}

function dress(theme) {
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("theme", theme); } catch { /* a browser may keep nothing */ }
}

function begin() {
  let kept = null;
  try { kept = localStorage.getItem("theme"); } catch { /* a browser may keep nothing */ }
  dress(kept || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  byId("theme").addEventListener("click", () => dress(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  byId("sized-by").addEventListener("change", (event) => picture.choose(event.target.value));
  byId("find").addEventListener("input", (event) => picture.find(event.target.value));
  byId("legend").append(...LEGEND.map(([kind, word]) => element("li", { class: kind }, word)));
  pools.follow();
  listen();
}

begin();
