// @ts-check
// When to try again what has failed: soon, then less often, never all browsers at once, and as soon
// as the network is back or somebody looks at the page again.

const FIRST_MS = 400;
const LONGEST_MS = 8_000;

/**
 * Waits before the next try.
 * @param {number} tries how many have failed
 * @param {() => void} then
 * @returns {() => void} does not try again after all
 */
export function again(tries, then) {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** tries);
  const timer = setTimeout(run, longest * (0.5 + Math.random() / 2));
  addEventListener("online", run);
  document.addEventListener("visibilitychange", look);
  function look() {
    if (!document.hidden) run();
  }
  function end() {
    clearTimeout(timer);
    removeEventListener("online", run);
    document.removeEventListener("visibilitychange", look);
  }
  function run() {
    end();
    then();
  }
  return end;
}
