// @ts-check
// The form of a source: a wait that nobody wrote follows the interval.

import { byId } from "./kit/dom.js";

const [interval, lag] = [byId("intervalSeconds"), byId("lagSeconds")];

function follow() {
  const seconds = Number(interval.value);
  lag.placeholder = Number.isInteger(seconds) && seconds > 0 ? String(seconds + 1) : "";
}

interval.addEventListener("input", follow);
follow();
