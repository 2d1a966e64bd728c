// Receives the event stream and updates the page.

import { close } from "./detail.js";
import { byId, clock, element, money, percent, renew } from "./dom.js";
import * as keys from "./keys.js";
import * as lists from "./lists.js";
import * as picture from "./picture.js";
import * as plots from "./plots.js";
import * as pools from "./pools.js";
import * as theme from "./theme.js";
import { announce } from "./voice.js";

const TEMPOS = [[0, "❚❚", "paused"], [1, "1×", "real time"], [60, "60×", "a minute a second"], [480, "480×", "a day in three minutes"], [1440, "1440×", "a day in a minute"]];
const LEGEND = [["running", "running"], ["starting", "starting"], ["leaving", "terminating"], ["daemon", "DaemonSet pod"], ["", "free"], ["dashed", "dashed: node starting or terminating"], ["spot", "amber edge: spot node"]];
const AGAIN_MS = 3000;

function hear(change) {
  byId("clock").textContent = `${clock(change.now)} UTC`;
  if (change.isWhole) picture.showAll(change.nodes || []);
  else picture.show(change.nodes || [], change.gone || []);
  lists.entries(change.entries || [], change.isWhole);
  lists.waiting(change.waiting, change.now);
  if (change.types) lists.types(change.types);
  plots.add(change.samples || [], change.isWhole);
  tiles(change.totals);
  tempo(change.tempo);
  if (!change.isWhole) announce(change.entries || []);
}

function tiles(totals) {
  const gap = totals.targetPerHour ? `${((totals.pricePerHour / totals.targetPerHour - 1) * 100).toFixed(1)} %` : "–";
  const figures = [["nodes", totals.nodes], ["running pods", totals.pods, "pods bound to nodes"], ["pending pods", totals.waiting, "pods that have no node yet"], ["per hour", money(totals.pricePerHour)],
    ["per month", money(totals.pricePerHour * 730, 0), "730 hours at this price"],
    ["above the lower bound", gap, "price of the cluster compared with the lower bound, if all movable pods were moved"],
    ["CPU requested", percent(totals.cpuUtilisation), "share of allocatable CPU that pods request"], ["memory requested", percent(totals.memoryUtilisation), "share of allocatable memory that pods request"]];
  renew(byId("tiles"), figures.map(([name, value, meaning]) => element("div", { title: meaning }, element("dt", {}, name), element("dd", { "data-figure": name }, String(value)))));
}

function tempo(rate) {
  const group = byId("tempo");
  if (rate === undefined || rate === null) return;
  group.hidden = false;
  byId("made-up").hidden = false;
  if (!group.children.length) {
    group.append(...TEMPOS.map(([value, word, meaning]) => element("button", { type: "button", "data-rate": value, "aria-label": `${word}: ${meaning}`, title: meaning, onclick: () => setTempo(value) }, word)));
  }
  for (const one of group.children) one.setAttribute("aria-pressed", String(Number(one.dataset.rate) === rate));
}

async function setTempo(rate) {
  try {
    await fetch("tempo", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ rate }) });
  } catch { /* the event stream reports a lost connection */ }
}

function listen() {
  const source = new EventSource("stream");
  source.onopen = () => { byId("connection").textContent = "live"; };
  source.onerror = () => {
    byId("connection").textContent = "not connected, trying again";
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, AGAIN_MS); // a browser gives up after a refusal
  };
  source.onmessage = (message) => {
    const start = performance.now();
    hear(JSON.parse(message.data));
    performance.measure("heard", { start });
    if (performance.getEntriesByName("heard").length > 100) performance.clearMeasures("heard");
  };
}

function begin() {
  theme.follow();
  keys.follow();
  byId("detail").addEventListener("close", close);
  byId("sized-by").addEventListener("change", (event) => picture.choose(event.target.value));
  byId("find").addEventListener("input", (event) => picture.find(event.target.value));
  byId("legend").append(...LEGEND.map(([kind, word]) => element("li", { class: kind }, word)));
  pools.follow();
  listen();
}

begin();
