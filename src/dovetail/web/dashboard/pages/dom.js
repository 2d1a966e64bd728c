// How are elements made? By their parts; text stays text, whatever it says.

const SVG = "http://www.w3.org/2000/svg";

export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

export const byId = (id) => document.getElementById(id);

export const money = (dollars, digits = 2) => `$${dollars.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;

export const percent = (share) => `${Math.round(share * 100)} %`;

export function ago(from, now) {
  const seconds = Math.max(0, (new Date(now) - new Date(from)) / 1000);
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

export const clock = (at) => `${at.slice(0, 10)} ${at.slice(11, 16)}`;
