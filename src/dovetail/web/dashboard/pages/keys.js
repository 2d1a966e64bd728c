// Moves the focus among the nodes: Tab reaches one node, the arrow keys reach the others.

import { byId } from "./dom.js";

const STEPS = { ArrowRight: 1, ArrowLeft: -1 };
const ROWS = { ArrowDown: 1, ArrowUp: -1 };
let current = null;

export function follow() {
  byId("picture").addEventListener("keydown", walk);
  byId("picture").addEventListener("focusin", (event) => stopAt(event.target));
}

// Somewhere the tab key must come to, also when that node is gone.
export function settle() {
  if (!current?.isConnected) stopAt(byId("picture").querySelector(".node"));
}

function stopAt(button) {
  if (current) current.tabIndex = -1;
  current = button;
  if (current) current.tabIndex = 0;
}

function walk(event) {
  const next = nextOf(event.key, event.target);
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function nextOf(key, from) {
  const all = () => [...byId("picture").querySelectorAll(".node")];
  if (key === "Home") return all().at(0);
  if (key === "End") return all().at(-1);
  if (key in STEPS) return beside(all(), from, STEPS[key]);
  if (!(key in ROWS)) return null;
  const rows = [...byId("picture").querySelectorAll(".nodes")];
  return beside(rows, from.closest(".nodes"), ROWS[key])?.querySelector(".node");
}

const beside = (all, one, step) => all[all.indexOf(one) + step];
