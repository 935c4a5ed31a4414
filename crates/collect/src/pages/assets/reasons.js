// @ts-check
// Why a slot has no value, in the reader's language: the same as the server does (`reasons.rs`).

import { given } from "./kit/dom.js";

/** @type {{ parts: string[], sentence: string }[]} */
const known = given.written.map((/** @type {string} */ pattern, /** @type {number} */ nth) => ({
  parts: pattern.split("{}"),
  sentence: given.reasons[nth],
}));

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const clock = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "numeric", minute: "2-digit", second: "2-digit" });

/** Times in it are shown in the reader's zone. @param {string} reason */
export function translate(reason) {
  for (const { parts, sentence } of known) {
    const found = split(parts, reason);
    if (found) return found.reduce((text, part) => text.replace("{}", () => shown(part)), sentence);
  }
  return reason;
}

/** @param {string} part */
function shown(part) {
  return TIME.test(part) ? clock.format(new Date(part)) : part;
}

/**
 * What stands between the parts, if they fit.
 * @param {string[]} parts
 * @param {string} reason
 */
function split([first, ...others], reason) {
  if (!reason.startsWith(first)) return undefined;
  let rest = reason.slice(first.length);
  const last = others.pop();
  if (last === undefined) return rest === "" ? [] : undefined;
  const found = [];
  for (const part of others) {
    const end = rest.indexOf(part);
    if (end < 0) return undefined;
    found.push(rest.slice(0, end));
    rest = rest.slice(end + part.length);
  }
  if (!rest.endsWith(last)) return undefined;
  found.push(rest.slice(0, rest.length - last.length));
  return found.includes("") ? undefined : found;
}
