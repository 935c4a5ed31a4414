// @ts-check
// Text as people write it: characters counted as they are seen, and Enter that knows of input
// methods.

const segmenter = new Intl.Segmenter(document.documentElement.lang, { granularity: "grapheme" });

/**
 * How many characters a reader sees.
 * @param {string} text
 */
export function graphemes(text) {
  let count = 0;
  for (const _ of segmenter.segment(text)) count += 1;
  return count;
}

/**
 * Lets Enter send the field's form. Shift and Enter makes a new line, and Enter that only ends a
 * conversion of kana does nothing more; 229 is what Safari says then.
 * @param {HTMLTextAreaElement} field
 */
export function sendOnEnter(field) {
  field.addEventListener("keydown", (event) => {
    const converts = event.isComposing || event.keyCode === 229;
    if (event.key !== "Enter" || event.shiftKey || converts) return;
    event.preventDefault();
    field.form?.requestSubmit();
  });
}
