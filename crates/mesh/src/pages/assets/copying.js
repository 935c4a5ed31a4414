// @ts-check
// Buttons that copy a text of the page. Without TLS a browser gives pages no clipboard: then the text
// is selected, and the browser's older command copies it.

import { byId } from "./kit/dom.js";

/** How long a page says that something was copied. */
const SHOWN_MS = 4_000;

/** @param {HTMLElement} element */
function copySelected(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  const selection = getSelection();
  selection?.removeAllRanges();
  selection?.addRange(range);
  return document.execCommand("copy");
}

/** @param {HTMLElement} element */
async function copyText(element) {
  if (!navigator.clipboard) return copySelected(element);
  try {
    await navigator.clipboard.writeText(element.textContent ?? "");
    return true;
  } catch {
    return copySelected(element);
  }
}

/**
 * Makes the buttons work (`data-copies` names what they copy).
 * @param {{ copied: string, copyFailed: string }} said
 */
export function letCopy(said) {
  document.addEventListener("click", async ({ target }) => {
    const button = /** @type {HTMLElement} */ (target).closest("[data-copies]");
    const id = /** @type {HTMLElement | null} */ (button)?.dataset.copies;
    if (!id) return;
    const state = /** @type {HTMLElement} */ (document.querySelector(`[data-copied="${id}"]`));
    state.textContent = (await copyText(byId(id))) ? said.copied : said.copyFailed;
    setTimeout(() => (state.textContent = ""), SHOWN_MS);
  });
}
