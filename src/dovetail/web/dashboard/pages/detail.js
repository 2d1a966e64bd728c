// Shows the explanation of one object or decision in a dialog, as the command line prints it.

import { byId, element } from "./dom.js";

export const ask = (what) => open(`explain?what=${encodeURIComponent(what)}`, what);

export const decision = (entry) => open(`decisions/${entry.number}/${entry.deed.place}`, entry.deed.title);

let asked = 0;

async function open(address, title) {
  asked += 1;
  const mine = asked;
  byId("detail-title").textContent = title;
  say("loading …");
  if (!byId("detail").open) byId("detail").showModal();
  try {
    const answer = await (await fetch(address)).json();
    if (mine === asked) tell(answer);
  } catch {
    if (mine === asked) say("The server does not respond.");
  }
}

// The element that was clicked may have been removed when the dialog closes.
export function close() {
  if (document.activeElement === document.body) byId("cluster").focus({ preventScroll: true });
}

const say = (text) => byId("detail-body").replaceChildren(element("p", { class: "quiet" }, text));

function tell(answer) {
  if (answer.problem) {
    say(answer.problem);
    return;
  }
  byId("detail-title").textContent = answer.title;
  const facts = element("dl");
  for (const [name, value] of answer.facts) facts.append(element("dt", {}, name), element("dd", {}, value));
  byId("detail-body").replaceChildren(element("p", { class: "verdict" }, answer.verdict), facts, ...answer.sections.map(section));
}

function section(one) {
  const made = element("div", {}, element("h3", {}, one.title));
  for (const line of one.lines) made.append(element("p", {}, line));
  if (one.rows.length) {
    const head = element("tr", {}, ...one.columns.map((name) => element("th", { scope: "col" }, name)));
    const rows = one.rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))));
    made.append(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
  }
  return made;
}
