// The overview of a full house, in a browser: what an update costs its main thread, from the event
// to what is painted.

import assert from "node:assert/strict";
import { person, picture, play, visit } from "./browser.mjs";

const DESKTOP = { width: 1440, height: 900 };
const PASSWORD = "a sentence to remember";
/** What an update may cost, and how many are looked at. */
const UPDATE_MS_MAX = 100;
const UPDATES = 10;

/** Milliseconds that the page's main thread has worked: scripts, styles, layout, painting. */
async function work(session) {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration").value * 1000;
}

/** Waits, without asking again and again, until an update is shown and painted. */
const nextUpdate = (page) =>
  page.evaluate(() => new Promise((resolve) => {
    const shown = new MutationObserver(() => {
      shown.disconnect();
      requestAnimationFrame(() => setTimeout(resolve));
    });
    shown.observe(document.body, { attributeFilter: ["data-at"] });
  }));

await play(async () => {
  const page = await visit(await person(DESKTOP), process.env.NAGAYA_LINK.slice(process.env.NAGAYA_URL.length));
  await page.fill("#password", PASSWORD);
  await page.fill("#again", PASSWORD);
  await page.click("button");
  await page.waitForURL("**/console");
  await page.locator("#state", { hasText: "ライブ" }).waitFor();
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  await nextUpdate(page);
  const costs = [];
  for (let update = 0, before = await work(session); update < UPDATES; update += 1) {
    await nextUpdate(page);
    const after = await work(session);
    costs.push(after - before);
    before = after;
  }
  costs.sort((a, b) => a - b);
  const [middle, most] = [costs[UPDATES / 2], costs[UPDATES - 1]].map((cost) => cost.toFixed(1));
  console.log(`an update of the overview costs the browser ${middle} ms, at most ${most} ms of ${UPDATES}; the bar is ${UPDATE_MS_MAX} ms`);
  // A machine that does much else may hold one of them up.
  assert.ok(costs[UPDATES - 2] < UPDATE_MS_MAX, `${costs} ms`);
  await picture(page, "full", { fullPage: true });
});
