// @ts-check
// The form of a source: a wait that nobody wrote follows the interval and the mode.

import { byId } from "./kit/dom.js";

const [interval, lag] = [byId("intervalSeconds"), byId("lagSeconds")];
const mode = /** @type {HTMLSelectElement} */ (document.querySelector("[name=mode]"));

function follow() {
  const seconds = Number(interval.value);
  const usual = mode.value === "instant" ? 0 : seconds + 1;
  lag.placeholder = Number.isInteger(seconds) && seconds > 0 ? String(usual) : "";
}

interval.addEventListener("input", follow);
mode.addEventListener("change", follow);
follow();
