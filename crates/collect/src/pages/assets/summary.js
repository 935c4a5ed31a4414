// @ts-check
// The public page: times in the reader's zone, and a fresh page when another minute is whole.

import { byId } from "./kit/dom.js";
import { showTimes } from "./kit/times.js";

const MINUTE_MS = 60_000;

showTimes(byId("content"));
// A title holds text alone, and no element for its time.
const clock = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "numeric", minute: "2-digit" });
for (const title of /** @type {NodeListOf<SVGTitleElement>} */ (document.querySelectorAll("title[data-time]"))) {
  const { time, rest } = title.dataset;
  title.textContent = `${clock.format(new Date(time ?? ""))}${rest}`;
}

/** Nothing is taken from somebody who reads the minutes. */
function renew() {
  const isRead = document.querySelector("details[open]") || document.hidden;
  if (!isRead) location.reload();
}

setInterval(renew, MINUTE_MS);
