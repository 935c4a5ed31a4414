// @ts-check
// Times in the reader's zone. The server writes them in UTC; what is shown says its zone when it is
// pointed at.

const language = document.documentElement.lang;
const today = new Intl.DateTimeFormat(language, { hour: "numeric", minute: "2-digit" });
const precise = new Intl.DateTimeFormat(language, { hour: "numeric", minute: "2-digit", second: "2-digit" });
const other = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
const whole = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" });

/**
 * Shows all times below `root`.
 * @param {ParentNode} root
 */
export function showTimes(root) {
  for (const element of root.querySelectorAll("time")) showTime(element, element.dateTime);
}

/**
 * Shows one time, of today to the second where the element says so (`data-seconds`).
 * @param {HTMLTimeElement} element
 * @param {string} at
 */
export function showTime(element, at) {
  const time = new Date(at);
  const isToday = time.toDateString() === new Date().toDateString();
  element.dateTime = at;
  const near = "seconds" in element.dataset ? precise : today;
  element.textContent = (isToday ? near : other).format(time);
  element.title = whole.format(time);
}
