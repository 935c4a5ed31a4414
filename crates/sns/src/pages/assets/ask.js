// @ts-check
// The question before what cannot be undone.

import { byId } from "./kit/dom.js";

/**
 * @param {string} question
 * @returns {Promise<boolean>}
 */
export function ask(question) {
  const dialog = byId("ask");
  byId("asked").textContent = question;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
