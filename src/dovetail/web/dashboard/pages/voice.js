// Announces new decisions to screen readers, at most every few seconds.

import { byId } from "./dom.js";

const EVERY_MS = 6000;
let unsaid = [];
let isResting = false;

export function announce(entries) {
  unsaid.push(...entries.map((one) => one.deed.title));
  if (!isResting) speak();
}

function speak() {
  if (!unsaid.length) return;
  const more = unsaid.length - 1;
  byId("announcer").textContent = unsaid.at(-1) + (more ? `, and ${more} more` : "");
  unsaid = [];
  isResting = true;
  setTimeout(() => { isResting = false; speak(); }, EVERY_MS);
}
