// @ts-check
// Lists and forms work without this: it writes figures and times as people like them, counts down
// to an item's end, asks before something is lost, and reads a file into a form.

import { byId, given } from "./kit/dom.js";
import { showTimes } from "./kit/times.js";
import { age, bytes, number } from "./show.js";

/** @param {string} name @param {(value: number) => string} write */
function each(name, write) {
  for (const element of document.querySelectorAll(`[data-${name}]`)) {
    const value = Number(/** @type {HTMLElement} */ (element).dataset[name]);
    if (Number.isFinite(value)) element.textContent = write(value);
  }
}

function countDown() {
  const now = Date.now() / 1000;
  each("ttl", (end) => (end > now ? age(end - now) : given.said.over));
}

/** The query builder asks for the key of the table or index that is chosen. */
function nameKey() {
  const chosen = /** @type {HTMLSelectElement | null} */ (document.getElementById("index"))?.selectedOptions[0];
  if (!chosen) return;
  const sort = byId("sort-name");
  byId("partition-name").textContent = chosen.dataset.partition;
  sort.textContent = chosen.dataset.sort ?? sort.dataset.none;
}

document.addEventListener("submit", (event) => {
  const question = /** @type {HTMLElement} */ (event.target).dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});

document.addEventListener("change", async (event) => {
  const field = /** @type {HTMLInputElement} */ (event.target);
  if (field.id === "index") nameKey();
  const file = field.type === "file" ? field.files?.[0] : undefined;
  const text = field.form?.querySelector("textarea");
  if (file && text) text.value = await file.text();
});

each("number", number);
each("bytes", bytes);
each("age", age);
countDown();
setInterval(countDown, 1_000);
showTimes(byId("content"));
