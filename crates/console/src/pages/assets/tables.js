// @ts-check
// Tables work without this: it picks an instant in the reader's zone, moves through rows and versions
// by keys and slider, and copies.

import "./lists.js";

const language = document.documentElement.lang;
const exact = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });
const whole = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" });

/** @param {string} id */
const find = (id) => /** @type {any} */ (document.getElementById(id));

/** Instants to the second, in the reader's zone. */
for (const element of document.querySelectorAll("time[data-exact]")) {
  const time = /** @type {HTMLTimeElement} */ (element);
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.getTime())) continue;
  time.textContent = exact.format(at);
  time.title = whole.format(at);
}

/** The picker speaks of the reader's zone, the field of UTC. */
function pickInstants() {
  const [field, pick] = [find("at"), find("pick")];
  if (!field || !pick) return;
  const show = () => {
    const at = new Date(field.value);
    if (!/^\d{4}-/.test(field.value) || Number.isNaN(at.getTime())) return;
    pick.value = new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
  };
  show();
  field.addEventListener("change", show);
  pick.addEventListener("change", () => {
    const at = new Date(pick.value);
    field.value = Number.isNaN(at.getTime()) ? "" : at.toISOString();
  });
}

/** The slider says which version it is on, and goes there when it is let go. */
function slide() {
  const [slider, list, output] = [find("versions"), find("version-list"), find("version-at")];
  if (!slider || !list) return;
  /** @type {HTMLAnchorElement[]} */
  const links = Array.from(list.querySelectorAll("a"));
  const chosen = () => links[links.length - 1 - Number(slider.value)];
  const say = () => {
    const text = chosen()?.textContent?.trim() ?? "";
    output.textContent = text;
    slider.setAttribute("aria-valuetext", text);
  };
  say();
  slider.addEventListener("input", say);
  slider.addEventListener("change", () => location.assign(chosen().href));
}

/** Arrows move from row to row, Escape closes the item. @param {KeyboardEvent} event */
function move(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.key === "Escape" && !target.matches("input, textarea, select")) {
    /** @type {HTMLAnchorElement | null} */ (document.querySelector("#item .close"))?.click();
    return;
  }
  if (!target.matches(".grid a.open")) return;
  /** @type {HTMLAnchorElement[]} */
  const rows = Array.from(document.querySelectorAll(".grid a.open"));
  const at = rows.indexOf(/** @type {HTMLAnchorElement} */ (target));
  /** @type {Record<string, number>} */
  const places = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 };
  const next = rows[places[event.key]];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

document.addEventListener("keydown", move);
document.addEventListener("click", async (event) => {
  const button = /** @type {HTMLElement} */ (event.target).closest("[data-copy]");
  if (!(button instanceof HTMLButtonElement)) return;
  await navigator.clipboard.writeText(find(button.dataset.copy ?? "").textContent);
  const name = button.textContent;
  button.textContent = button.dataset.done ?? "";
  setTimeout(() => (button.textContent = name), 1_500);
});

/** What a row shows is asked for by all of it, not by its key alone. */
for (const row of document.querySelectorAll(".grid tbody tr")) {
  row.addEventListener("click", (event) => {
    const isSelecting = String(getSelection()) !== "";
    if (isSelecting || /** @type {HTMLElement} */ (event.target).closest("a")) return;
    /** @type {HTMLAnchorElement | null} */ (row.querySelector("a.open"))?.click();
  });
}

const until = find("until");
const op = find("op");
if (until && op) {
  const show = () => (until.hidden = op.value !== "between");
  op.addEventListener("change", show);
  show();
}

pickInstants();
slide();
