// @ts-check
// The search of the operator's pages: a dialog that opens by `/` or Ctrl-K from everywhere, and that
// hands need no mouse for. Without this module its link leads to a page that does the same.

import { byId, copy, counted, fill } from "./dom.js";

/** After the last letter. Somebody who types fast asks once. */
const PAUSE_MS = 120;

/** @type {HTMLDialogElement} */
const dialog = byId("desk-search");
/** @type {HTMLInputElement} */
const field = byId("search-field");
/** @type {HTMLUListElement} */
const list = byId("search-found");
const state = byId("search-state");
const { path = "", none = "", found: foundWord = "", more: moreWord = "", late: lateWord = "", failed = "" } = dialog.dataset;

/** The question under way, which the next one ends. */
let asking = new AbortController();
let timer = 0;
/** The option that Enter opens. */
let chosen = -1;

function open() {
  if (document.querySelector("dialog[open]")) return;
  /** @type {any} */ (document.getElementById("menu"))?.hidePopover?.();
  dialog.showModal();
  field.select();
  ask();
}

async function ask() {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  try {
    const answer = await fetch(`${path}?q=${encodeURIComponent(field.value.trim())}`, { signal, headers: { accept: "application/json" } });
    if (answer.status === 401) return location.assign(`/console/sign-in?next=${encodeURIComponent(location.pathname)}`);
    if (!answer.ok) throw new Error(String(answer.status));
    show(await answer.json());
  } catch {
    if (signal.aborted) return;
    show({ found: [], isMore: false, isLate: false });
    state.textContent = failed;
  }
}

/** @param {{ found: { name: string, hint: string, kind: string, path: string }[], isMore: boolean, isLate: boolean }} answer */
function show({ found, isMore, isLate }) {
  list.replaceChildren(...found.map(({ path, ...texts }, index) => {
    const option = copy("search-one");
    option.id = `search-${index}`;
    option.dataset.path = path;
    fill(option, texts);
    return option;
  }));
  list.hidden = found.length === 0;
  field.ariaExpanded = String(found.length > 0);
  list.scrollTop = 0;
  choose(found.length > 0 ? 0 : -1);
  const sentence = isLate ? lateWord : isMore ? moreWord : found.length > 0 ? foundWord : none;
  state.textContent = counted(sentence, found.length);
}

/** @param {number} index */
function choose(index) {
  list.children[chosen]?.setAttribute("aria-selected", "false");
  chosen = index;
  const option = list.children[chosen];
  if (!option) return field.removeAttribute("aria-activedescendant");
  option.setAttribute("aria-selected", "true");
  field.setAttribute("aria-activedescendant", option.id);
  option.scrollIntoView({ block: "nearest" });
}

/** @param {Element | null | undefined} option @param {boolean} inNewTab */
function enter(option, inNewTab) {
  const to = /** @type {HTMLElement | null | undefined} */ (option)?.dataset.path;
  if (!to) return;
  if (inNewTab) {
    window.open(to, "_blank", "noopener");
    return;
  }
  dialog.close();
  location.assign(to);
}

/** @param {KeyboardEvent} event */
function steer(event) {
  const count = list.children.length;
  if (event.isComposing || event.keyCode === 229) return;
  if (event.key === "ArrowDown" && count > 0) choose((chosen + 1) % count);
  else if (event.key === "ArrowUp" && count > 0) choose((chosen - 1 + count) % count);
  else if (event.key === "Escape") dialog.close(); // Otherwise it would only empty the field.
  else if (event.key === "Enter") enter(list.children[chosen], event.ctrlKey || event.metaKey);
  else return;
  event.preventDefault();
}

/** @param {EventTarget | null} target */
function takesLetters(target) {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
}

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.altKey) return;
  const isControl = event.ctrlKey || event.metaKey;
  const isShortcut = isControl && !event.shiftKey && event.key.toLowerCase() === "k";
  const isSlash = !isControl && event.key === "/" && !takesLetters(event.target);
  if (!isShortcut && !isSlash) return;
  event.preventDefault();
  open();
});
byId("open-search").addEventListener("click", (/** @type {MouseEvent} */ event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  open();
});
byId("search-close").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => {
  // A click beside the box lands on the dialog itself.
  if (event.target === dialog) dialog.close();
  const option = /** @type {Element} */ (event.target).closest("[role=option]");
  enter(option, event.ctrlKey || event.metaKey);
});
dialog.addEventListener("close", () => {
  asking.abort();
  clearTimeout(timer);
});
field.addEventListener("keydown", steer);
field.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE_MS);
});
