// Draws line charts over time, with the current values beside them.

import { byId, clock, drawn, element, money, percent } from "./dom.js";

const [WIDTH, HEIGHT] = [400, 100];
const MOST = 1500;
const PLOTS = [
  { title: "Cost per hour", lines: [["price", (t) => t.pricePerHour], ["lower bound", (t) => t.targetPerHour || null]], shown: (v) => money(v) },
  { title: "Requested share of allocatable", lines: [["CPU", (t) => t.cpuUtilisation], ["memory", (t) => t.memoryUtilisation]], shown: percent, top: 1 },
  { title: "Nodes and pending pods", lines: [["nodes", (t) => t.nodes], ["pending pods", (t) => t.waiting]], shown: (v) => String(Math.round(v)) },
];
let samples = [];

export function add(more, isWhole) {
  if (!more.length && !isWhole) return;
  samples = (isWhole ? [] : samples).concat(more).slice(-MOST);
  byId("plots").replaceChildren(...PLOTS.map(plot));
}

function plot({ title, lines, shown, top }) {
  const values = lines.map(([, value]) => samples.map(([, totals]) => value(totals)));
  const most = top || Math.max(1e-9, ...values.flat().filter((v) => v !== null)) * 1.08;
  const picture = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": spoken(title, lines, values, shown) });
  values.forEach((line, at) => picture.append(drawn("path", { class: at ? "two" : "one", d: path(line, most) })));
  const words = [["most", shown(most)], ["least", shown(0)], ["from", moment(0)], ["till", moment(-1)]];
  const marks = words.map(([name, text]) => element("span", { class: name, "aria-hidden": "true" }, text));
  const caption = element("figcaption", {}, element("b", {}, title));
  lines.forEach(([name], at) => {
    const last = values[at].at(-1);
    caption.append(element("span", { class: at ? "key second" : "key" }, `${name} ${last === null || last === undefined ? "–" : shown(last)}`));
  });
  return element("figure", {}, caption, element("div", { class: "plot" }, picture, ...marks));
}

const moment = (at) => (samples.length ? clock(samples.at(at)[0]).slice(5) : "");

// As far to the right as the time that has passed: moments are not always equally far apart.
function path(line, most) {
  const times = samples.map(([at]) => Date.parse(at));
  const [first, span] = [times[0], Math.max(1, times.at(-1) - times[0])];
  let isDown = false;
  const words = line.map((value, at) => {
    if (value === null) { isDown = false; return ""; }
    const x = ((times[at] - first) / span) * WIDTH;
    const word = `${isDown ? "L" : "M"}${x.toFixed(1)} ${(HEIGHT - (value / most) * HEIGHT).toFixed(1)}`;
    isDown = true;
    return word;
  });
  return words.join("") + (isDown && line.length === 1 ? `H${WIDTH}` : "");
}

function spoken(title, lines, values, shown) {
  const told = lines.map(([name], at) => `${name} ${values[at].at(-1) == null ? "unknown" : shown(values[at].at(-1))}`);
  return `${title}: ${told.join(", ")} now; from ${moment(0)} to ${moment(-1)}`;
}
