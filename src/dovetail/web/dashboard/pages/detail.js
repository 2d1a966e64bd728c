// What is there to say about one thing? The same answer as the command line's, in a dialog.

import { byId, element } from "./dom.js";

export const ask = (what) => open(`explain?what=${encodeURIComponent(what)}`, what);

export const decision = (entry) => open(`decisions/${entry.number}/${entry.deed.place}`, entry.deed.title);

async function open(address, title) {
  byId("detail-title").textContent = title;
  byId("detail-body").replaceChildren(element("p", { class: "quiet" }, "looking …"));
  if (!byId("detail").open) byId("detail").showModal();
  try {
    const answer = await (await fetch(address)).json();
    tell(answer);
  } catch {
    byId("detail-body").replaceChildren(element("p", {}, "The server does not answer."));
  }
}

function tell(answer) {
  if (answer.problem) {
    byId("detail-body").replaceChildren(element("p", {}, answer.problem));
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
