// The first minutes of newcomers: the practice source, the sample game and the first account, each
// from the empty page of its room.

import assert from "node:assert/strict";
import { everyLook, namesItsButtons, picture } from "./appearance.mjs";
import { DESKTOP, SMALL, go, person, play, setUp, until, url, visit } from "./browser.mjs";
import { advance } from "./clock.mjs";

const PASSWORD = "a sentence to remember";
/** How long the sample game takes, and a player needs for a window of it. */
const PLAY_SECONDS = 10;
const HIT_SECONDS = 0.5;

/** Links and buttons are 24 px wide and high, but for those within a sentence; all buttons differ by name. */
async function canBeUsed(page) {
  await namesItsButtons(page);
  const small = await page.evaluate(() => {
    const shown = [...document.querySelectorAll("a, button, summary")].filter((one) => one.checkVisibility());
    const isWithinText = (one) => getComputedStyle(one).display === "inline" && one.closest("p, li");
    const size = (one) => [one, one.getBoundingClientRect()];
    const isSmall = ([, { width, height }]) => width > 1 && (width < 24 || height < 24);
    return shown.filter((one) => !isWithinText(one)).map(size).filter(isSmall)
      .map(([one, { width, height }]) => `${one.textContent.trim()}: ${Math.round(width)} x ${Math.round(height)}`);
  });
  assert.deepEqual(small, [], page.url());
}

/** What the empty pages look like. */
async function looks(operator) {
  const cookies = (await operator.cookies()).filter(({ name }) => name !== "lang");
  const enter = (context) => context.addCookies(cookies);
  await everyLook([
    { name: "collect-stranger", path: "/collect", sign: "#begin-title", check: canBeUsed },
    { name: "collect-desk", path: "/collect/operate", sign: "#begin-title", enter, check: canBeUsed },
    { name: "score", path: "/score", sign: "#offered-title", check: canBeUsed },
    { name: "score-board", path: "/score/board/akari/ALL", sign: "#nobody", check: canBeUsed },
    { name: "sns", path: "/sns", sign: "#register", check: canBeUsed },
  ]);
}

/** One click brings a series that is there within ten seconds, and another one takes it away. */
async function practises(page) {
  await go(page, "/collect");
  await page.getByRole("button", { name: "練習用データ元で試す" }).click();
  await page.locator(".notice", { hasText: "練習用データ元を追加しました" }).waitFor();
  await advance(10);
  const row = page.locator("#source-practice");
  // Slots of the time before the click came late; those of the minute of the click may be on their way.
  const came = () => row.locator(".strip :is([data-state=ok], [data-state=late])").count();
  await until("the strip to fill", async () => (await came()) >= 50, true);
  await page.reload();
  await row.locator("canvas").waitFor();
  await picture(page, "collect-practice", { fullPage: true });
  const stranger = await visit(await person(SMALL, { lang: "en" }), "/collect");
  await stranger.locator("h2", { hasText: "practice" }).waitFor();
  await until("bars of minutes", async () => (await stranger.locator(".minutes rect").count()) > 20, true);
  await picture(stranger, "collect-public", { fullPage: true });
  await row.getByRole("button", { name: /練習を終えて削除/ }).click();
  await page.locator(".notice", { hasText: "練習用データ元とその値を削除しました" }).waitFor();
  await until("the empty desk", async () => {
    await go(page, "/collect/operate");
    return page.locator("#begin-title").count();
  }, 1);
}

/** The sample is played from /score, and the ranking shows the play. */
async function plays() {
  const context = await person(DESKTOP, { lang: "en" });
  await context.clock.install();
  const page = await visit(context, "/score");
  await page.getByRole("link", { name: "Play the sample game" }).click();
  await page.waitForURL("**/score/play/");
  await page.fill("#player", "Ada");
  await page.clock.pauseAt(Date.now() + 1_000);
  await page.press("#player", "Enter");
  for (const points of [10, 21, 33]) {
    await page.keyboard.press(await page.textContent("#house .lit"));
    await until("the points", () => page.textContent("#score"), String(points));
    await page.clock.runFor(HIT_SECONDS * 1_000);
  }
  await advance(PLAY_SECONDS);
  await page.clock.runFor(PLAY_SECONDS * 1_000);
  await until("the rank", async () => /^33 points! You are number 1\./.test(await page.textContent("#result")), true);
  await page.clock.resume();
  await page.click("#whole");
  await page.locator("#rows tr", { hasText: "Ada" }).waitFor();
  await picture(page, "score-played");
}

/** The first account: what it sees first, and what it is told to do. */
async function joins() {
  // A socket whose session ends asks for another one, and is refused.
  const page = await visit(await person(DESKTOP), "/sns", 401);
  const forms = () => page.locator("#entry form").evaluateAll((all) => all.map(({ id }) => id));
  assert.deepEqual(await forms(), ["register", "log-in"], "who has no account makes one");
  await page.fill("#register-email", "hanako@example.org");
  await page.fill("#register-name", "hanako");
  await page.fill("#register-password", PASSWORD);
  await page.press("#register-password", "Enter");
  await page.locator("#start").waitFor();
  assert.equal(await page.textContent("#own-address"), `${url}/sns/u/hanako`);
  await picture(page, "sns-first");
  await page.fill("#text", "はじめての投稿です");
  await page.press("#text", "Control+Enter");
  await page.locator("#list > li", { hasText: "はじめての投稿です" }).waitFor();
  assert.ok(await page.isVisible("#start"), "still nobody is followed");
  await picture(page, "sns-posted");
  // Somebody opens the address that was sent to them.
  const other = await visit(await person(SMALL, { lang: "en" }), "/sns/u/hanako");
  await other.fill("#register-email", "ada@example.org");
  await other.fill("#register-name", "ada");
  await other.fill("#register-password", PASSWORD);
  await other.press("#register-password", "Enter");
  await other.click("#follow");
  await other.locator('#follow[aria-pressed="true"]').waitFor();
  await until("the post in the timeline", async () => {
    await go(other, "/sns");
    await other.locator("#list > li, #empty:visible").first().waitFor();
    return other.locator("#list > li", { hasText: "はじめての投稿です" }).count();
  }, 1);
  assert.ok(await other.isHidden("#start"), "there is something to read");
  await page.click("#leave");
  await page.locator("#entry form").first().waitFor();
  assert.deepEqual(await forms(), ["log-in", "register"], "who has one logs in");
}

await play(async () => {
  const operator = await person(DESKTOP);
  const page = await visit(operator, "/collect");
  await setUp(page, PASSWORD);
  await page.goto("about:blank");
  await looks(operator);
  await practises(page);
  await plays();
  await joins();
});
