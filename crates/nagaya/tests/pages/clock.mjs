// The time of the house, which a story moves instead of waiting: `testkit::program` tells how. The
// house's clock flows with real time between moves, and so does the clock of a page; a page whose
// own time matters comes along.

import { connect } from "node:net";
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
  const said = await order({ Advance: { ms } });
  ahead = Date.parse(/^> (\S+)$/m.exec(said)[1]) - Date.now();
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

/** Gives the house an order through its control socket; its answer. */
function order(request) {
  return new Promise((resolve, reject) => {
    let said = "";
    const socket = connect(process.env.NAGAYA_CONTROL, () => socket.end(`${JSON.stringify(request)}\n`));
    socket.setEncoding("utf8").on("data", (text) => (said += text)).on("error", reject);
    const isDone = () => said.includes('= {"code":0,');
    socket.on("close", () => (isDone() ? resolve(said) : reject(new Error(`the house said: ${said}`))));
  });
}
