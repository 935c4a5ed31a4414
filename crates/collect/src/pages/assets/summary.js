// @ts-check
// The public page: times in the reader's zone, and a fresh page when another minute is whole.

import { byId } from "./kit/dom.js";
import { showTimes } from "./kit/times.js";

const MINUTE_MS = 60_000;

showTimes(byId("content"));

/** Nothing is taken from somebody who reads the minutes. */
function renew() {
  const isRead = document.querySelector("details[open]") || document.hidden;
  if (!isRead) location.reload();
}

setInterval(renew, MINUTE_MS);
