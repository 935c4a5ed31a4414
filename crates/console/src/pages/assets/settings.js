// @ts-check
// The settings: found while somebody types, and lines that follow a new value. Without script the
// search is a form, and the lines have the present values.

import "./lists.js";
import "./copy.js";
import { byId, counted } from "./kit/dom.js";

const search = /** @type {HTMLInputElement} */ (byId("q"));

function find() {
  const parts = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const group of document.querySelectorAll("main .settings")) {
    let shown = 0;
    for (const element of group.querySelectorAll(".setting")) {
      const setting = /** @type {HTMLElement} */ (element);
      const words = setting.dataset.words ?? "";
      setting.hidden = !parts.every((part) => words.includes(part));
      if (!setting.hidden) shown += 1;
    }
    /** @type {HTMLElement} */ (group).hidden = shown === 0;
    found += shown;
  }
  const { one, many } = byId("count").dataset;
  byId("count").textContent = found === 1 ? one : counted(many, found);
  byId("nothing").hidden = found > 0;
}

/** A value as a file writes it. @param {string} value @param {string | undefined} form */
const inFile = (value, form) => (form === "text" ? JSON.stringify(value) : value.trim());

/** A value as a shell reads it. @param {string} value */
const inShell = (value) => (/^[\w./:,@%+=-]*$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`);

/** @param {HTMLElement} change @param {string} value */
function writeLines(change, value) {
  const { section, name, variable, form } = change.dataset;
  const lines = {
    file: `[${section}]\n${name} = ${inFile(value, form)}`,
    environment: `${variable}=${inShell(value)}`,
  };
  for (const [slot, line] of Object.entries(lines)) {
    const place = change.querySelector(`[data-slot="${slot}"]`);
    if (!place) continue;
    place.textContent = line;
    const button = /** @type {HTMLElement | null | undefined} */ (place.parentElement?.querySelector("[data-copy]"));
    if (button) button.dataset.copy = line;
  }
}

search.addEventListener("input", find);
byId("show").addEventListener("change", () => search.form?.requestSubmit());
document.addEventListener("input", (event) => {
  const input = /** @type {HTMLInputElement} */ (event.target);
  const change = /** @type {HTMLElement | null} */ (input.closest(".change"));
  if (change && input.name === "value") writeLines(change, input.value);
});
