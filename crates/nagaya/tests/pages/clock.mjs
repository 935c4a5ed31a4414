// The time of the house, which a story moves instead of waiting: `testkit::program` tells how. The
// house's clock flows with real time between moves, and so does the clock of a page; a page whose
// own time matters comes along.

import { moveClock } from "../control.mjs";
import { begins, bounded } from "./browser.mjs";

/** How far the house's clock is ahead of the machine's. */
let ahead = 0;

/** What the house's clock shows, in milliseconds. */
export const now = () => Date.now() + ahead;

/**
 * Moves the house's clock ahead, then the clocks of these pages, which `context.clock.install` has
 * put on.
 */
export async function advance(seconds, ...pages) {
  begins(`moving the clock by ${seconds} s`);
  const ms = Math.round(seconds * 1_000);
  ahead = (await moveClock(ms)) - Date.now();
  await Promise.all(pages.map((page) => page.clock.fastForward(ms)));
}

/** Moves the house's clock second by second until `promise` is kept; its value. */
export async function whileTimePasses(what, promise) {
  let isOver = false;
  const over = bounded(what, promise).finally(() => (isOver = true));
  // Its failure is thrown below, not here where nobody waits for it yet.
  over.catch(() => {});
  while (!isOver) await advance(1);
  return over;
}
