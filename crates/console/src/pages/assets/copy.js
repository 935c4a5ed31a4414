// @ts-check
// Buttons that put a text on the clipboard (`data-copy`), and say so for a moment.

/** How long a button says that it is done. */
const SAID_MS = 2_000;

/** Without TLS a browser has no clipboard for pages but on this machine; there, the selection is copied.
 * @param {string} text */
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "unseen";
  document.body.append(field);
  field.focus();
  field.select();
  document.execCommand("copy");
  field.remove();
}

document.addEventListener("click", async (event) => {
  const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-copy]"));
  const label = button?.firstElementChild;
  if (!button || !label || button.getAttribute("aria-disabled")) return;
  await copy(button.dataset.copy ?? "");
  const before = label.textContent;
  label.textContent = button.dataset.copied ?? "";
  button.setAttribute("aria-disabled", "true");
  setTimeout(() => {
    label.textContent = before;
    button.removeAttribute("aria-disabled");
    button.focus({ preventScroll: true });
  }, SAID_MS);
});
