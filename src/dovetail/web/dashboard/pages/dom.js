// Creates and updates elements; text is never parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") made.onclick = value;
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

// Make the children of an element look like these. Those that stay are the same elements as before,
// so that focus, selection and scroll position are kept.
export function renew(parent, fresh) {
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  const place = [...parent.childNodes].findIndex((one) => one.contains(focused));
  replace(parent, fresh);
  if (!focused || focused === document.activeElement) return;
  const beside = parent.childNodes[Math.min(place, parent.childNodes.length - 1)];
  const next = focused.isConnected ? focused : beside?.querySelector?.("button, [tabindex]") || parent.closest("[tabindex]");
  next?.focus({ preventScroll: true });
}

function replace(parent, fresh) {
  const before = [...parent.childNodes];
  const known = new Map(before.map((one, at) => [keyOf(one, at), one]));
  const wanted = fresh.map((one, at) => {
    const old = known.get(keyOf(one, at));
    known.delete(keyOf(one, at));
    return old && old.nodeName === one.nodeName ? alike(old, one) : one;
  });
  const staying = new Set(wanted);
  for (const one of before) if (!staying.has(one)) one.remove();
  let next = parent.firstChild;
  for (const one of wanted) {
    if (one === next) next = next.nextSibling;
    else parent.insertBefore(one, next);
  }
}

const keyOf = (one, at) => one.dataset?.key ?? `${at} ${one.nodeName}`;

function alike(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return old;
  }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  old.onclick = fresh.onclick;
  replace(old, [...fresh.childNodes]);
  return old;
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

export const price = (dollars) => (dollars ? money(dollars, 4) : "unknown");

export const clock = (at) => `${at.slice(0, 10)} ${at.slice(11, 16)}`;
