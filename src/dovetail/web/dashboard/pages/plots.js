// How did it go? Lines over time, with the figures beside them.

import { byId, drawn, element, money, percent } from "./dom.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [400, 120, 44, 14];
const MOST = 1500;
const PLOTS = [
  { title: "Cost per hour", lines: [["paid", (t) => t.pricePerHour], ["at least, if bought anew", (t) => t.targetPerHour || null]], shown: (v) => money(v) },
  { title: "Utilisation", lines: [["cpu", (t) => t.cpuUtilisation], ["memory", (t) => t.memoryUtilisation]], shown: percent, top: 1 },
  { title: "Nodes, and pods that wait", lines: [["nodes", (t) => t.nodes], ["waiting", (t) => t.waiting]], shown: (v) => String(Math.round(v)) },
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
  const picture = drawn("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": spoken(title, lines, values, shown) });
  picture.append(drawn("path", { class: "frame", d: `M${LEFT} 4V${HEIGHT - BOTTOM}H${WIDTH}` }));
  picture.append(drawn("text", { x: 2, y: 12 }, shown(most)), drawn("text", { x: 2, y: HEIGHT - BOTTOM }, shown(0)));
  values.forEach((line, at) => picture.append(drawn("path", { class: at ? "two" : "one", d: path(line, most) })));
  const caption = element("figcaption", {}, element("b", {}, title));
  lines.forEach(([name], at) => {
    const last = values[at].at(-1);
    caption.append(element("span", { class: at ? "key second" : "key" }, `${name} ${last === null || last === undefined ? "–" : shown(last)}`));
  });
  return element("figure", {}, caption, picture);
}

function path(line, most) {
  const step = (WIDTH - LEFT) / Math.max(1, line.length - 1);
  let isDown = false;
  return line.map((value, at) => {
    if (value === null) { isDown = false; return ""; }
    const y = HEIGHT - BOTTOM - (value / most) * (HEIGHT - BOTTOM - 4);
    const word = `${isDown ? "L" : "M"}${(LEFT + at * step).toFixed(1)} ${y.toFixed(1)}`;
    isDown = true;
    return word;
  }).join("");
}

function spoken(title, lines, values, shown) {
  const told = lines.map(([name], at) => `${name} ${values[at].at(-1) == null ? "not known" : shown(values[at].at(-1))}`);
  return `${title}: ${told.join(", ")} now, over ${samples.length} moments`;
}
