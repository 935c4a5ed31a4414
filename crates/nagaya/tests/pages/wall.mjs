// What moves on the live room's wall, which a comment crosses in nine seconds.

/** One for each page: several would undo each other at the next reload. */
const sessions = new WeakMap();

/** Lets everything on a page move at this rate, also after a reload. */
export async function runAt(page, playbackRate) {
  if (!sessions.has(page)) sessions.set(page, await page.context().newCDPSession(page));
  await sessions.get(page).send("Animation.enable");
  await sessions.get(page).send("Animation.setPlaybackRate", { playbackRate });
}

/** Moves comments that fly to the middle of their way, where a picture shows them. */
export async function isHalfWay(wall) {
  await wall.evaluate(() => {
    for (const flight of document.getElementById("flow").getAnimations({ subtree: true })) {
      flight.currentTime = flight.effect.getComputedTiming().endTime / 2;
    }
  });
}
