// @ts-check
// The page as the server made it, changed by text alone: nothing here turns text into markup.

/** What the server gave to the page's modules. */
export const given = JSON.parse(document.body.dataset.given ?? "{}");

/**
 * The element with this id, which the page has.
 * @param {string} id
 * @returns {any}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

/**
 * A copy of what the template with this id holds.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function copy(id) {
  return byId(id).content.firstElementChild.cloneNode(true);
}

/**
 * Puts texts into the places that are called so (`data-slot`).
 * @param {Element} root
 * @param {Record<string, string | number>} texts
 */
export function fill(root, texts) {
  for (const [name, text] of Object.entries(texts)) {
    for (const place of root.querySelectorAll(`[data-slot="${name}"]`)) {
      place.textContent = String(text);
    }
  }
}

/**
 * A sentence with its number.
 * @param {string} sentence
 * @param {number} n
 */
export function counted(sentence, n) {
  return sentence.replace("{n}", n.toLocaleString(document.documentElement.lang));
}
