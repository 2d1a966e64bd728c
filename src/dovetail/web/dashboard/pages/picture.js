// Draws nodes as boxes by pool and zone; the pods inside are sized by their requests.

import { byId, drawn, element, price } from "./dom.js";
import { ask } from "./detail.js";
import { areas } from "./areas.js";
import * as keys from "./keys.js";

const HEIGHT = 50;
const places = new Map(); // pool and zone -> list of nodes
const boxes = new Map(); // node name -> { box, element }
let sizedBy = "cpu";
let wanted = "";

export function choose(what) {
  sizedBy = what;
  for (const held of boxes.values()) paint(held);
}

export function find(text) {
  wanted = text.trim().toLowerCase();
  for (const held of boxes.values()) held.element.classList.toggle("off", !matches(held.box));
  count();
}

function count() {
  const n = [...boxes.values()].filter((held) => matches(held.box)).length;
  const said = wanted ? `${n} of ${boxes.size} nodes` : "";
  if (byId("found").textContent !== said) byId("found").textContent = said;
}

// Removes the nodes that are not in the list.
export function showAll(all) {
  const staying = new Set(all.map((box) => box.name));
  show(all, [...boxes.keys()].filter((name) => !staying.has(name)));
}

export function show(changed, gone) {
  for (const name of gone) remove(name);
  for (const box of changed) {
    const held = boxes.get(box.name);
    if (held && held.box.pool === box.pool && held.box.zone === box.zone) held.box = box;
    else {
      if (held) remove(box.name);
      boxes.set(box.name, added(box));
    }
    paint(boxes.get(box.name));
  }
  byId("nothing").hidden = boxes.size > 0;
  keys.settle();
  if (wanted) count();
}

function remove(name) {
  const held = boxes.get(name);
  if (!held) return;
  const list = held.item.parentElement;
  const hadFocus = held.element === document.activeElement;
  held.item.remove();
  boxes.delete(name);
  if (hadFocus) (list.querySelector("button") || byId("cluster")).focus();
  if (!list.children.length) close(list, held.box);
}

function close(list, box) {
  places.delete(`${box.pool}\n${box.zone}`);
  const zones = list.closest(".zones");
  list.closest(".zone").remove();
  if (!zones.children.length) zones.closest(".pool").remove();
}

function added(box) {
  const button = element("button", { type: "button", tabindex: -1, onclick: () => ask(`node/${box.name}`) });
  const item = element("li", {}, button);
  place(box.pool, box.zone).append(item);
  return { box, element: button, item };
}

function place(pool, zone) {
  const key = `${pool}\n${zone}`;
  if (places.has(key)) return places.get(key);
  const held = poolOf(pool);
  const nodes = element("ul", { class: "nodes", "aria-label": `nodes of ${pool || "no NodePool"} in ${zone || "no zone"}` });
  const row = element("div", { class: "zone", "data-zone": zone }, element("span", {}, zone || "no zone yet"), nodes);
  insert(held, row, zone, "zone");
  places.set(key, nodes);
  return nodes;
}

function poolOf(pool) {
  const known = [...byId("picture").children].find((one) => one.dataset.pool === pool);
  if (known) return known.querySelector(".zones");
  const zones = element("div", { class: "zones" });
  insert(byId("picture"), element("div", { class: "pool", "data-pool": pool }, element("h3", {}, pool || "no NodePool"), zones), pool, "pool");
  return zones;
}

function insert(parent, made, key, field) {
  const after = [...parent.children].find((one) => one.dataset[field] > key);
  parent.insertBefore(made, after || null);
}

function paint(held) {
  const { box, element: button } = held;
  const width = Math.max(30, Math.round(20 * Math.sqrt(Math.max(box.cpu[1], 500) / 1000)));
  const state = box.state === "not ready" ? "unready" : box.state;
  button.className = `node ${state}${box.capacityType === "spot" ? " spot" : ""}${matches(box) ? "" : " off"}`;
  button.dataset.name = box.name;
  const label = described(box);
  button.setAttribute("aria-label", label);
  button.title = label;
  const amount = sizedBy === "cpu" ? 1 : 2;
  const all = (sizedBy === "cpu" ? box.cpu : box.memory)[1];
  const shapes = [...outlines(areas(box.pods, (pod) => pod[amount], all, width, HEIGHT))];
  button.replaceChildren(drawn("svg", { width, height: HEIGHT, "aria-hidden": "true" }, ...shapes.map(([of, d]) => drawn("path", { class: `pod ${of}`, d }))));
}

// The pods of a state are one shape: a large cluster has more pods than a browser likes elements.
function outlines(rectangles) {
  const found = new Map();
  for (const { item, x, y, w, h } of rectangles) found.set(item[3], `${found.get(item[3]) || ""}M${x} ${y}h${w}v${h}h${-w}z`);
  return found;
}

function described(box) {
  const full = (pair) => (pair[1] ? Math.round((100 * pair[0]) / pair[1]) : 0);
  const kind = [box.instanceType || "unknown type", box.capacityType, box.zone].filter(Boolean).join(" ");
  return `${box.name}, ${kind}, ${box.state}, ${box.pricePerHour ? `${price(box.pricePerHour)} an hour` : "price unknown"}, ` +
    `cpu ${full(box.cpu)} %, memory ${full(box.memory)} %, ${box.pods.length} ${box.pods.length === 1 ? "pod" : "pods"}`;
}

function matches(box) {
  if (!wanted) return true;
  const words = [box.name, box.pool, box.zone, box.instanceType, box.capacityType, box.state];
  return words.some((one) => one.toLowerCase().includes(wanted)) || box.pods.some((pod) => pod[0].includes(wanted));
}
