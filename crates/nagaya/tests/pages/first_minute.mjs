// The first minute in a browser, by somebody who has seen only the terminal: the set-up link, and
// from the front of the house into each room by what its pages offer.

import assert from "node:assert/strict";
import { picture } from "./appearance.mjs";
import { DESKTOP, PHONE, begins, go, person, play, setUp, until, visit } from "./browser.mjs";

const PASSWORD = "a sentence to remember";

/** From the front of the house into a room, by a link that can be seen. */
async function enter(page, path) {
  await go(page, "/");
  await page.locator(`main a[href="${path}"]:visible`).first().click();
  await page.waitForURL(`**${path}`);
}

/** A talk: a room is opened, and somebody in the audience says something. */
async function talks(operator) {
  begins("a comment in a room");
  const host = await visit(operator, "/");
  await enter(host, "/live");
  await host.fill("#name", "はじめての部屋");
  await host.click("#start button");
  await host.waitForSelector("#desk:not([hidden])");
  const code = await host.textContent(".way .code");
  const audience = await visit(await person(PHONE, { lang: "en" }), "/live");
  await audience.fill("#code", code);
  await audience.click("form[action='/live/join'] button");
  await audience.fill("#text", "hello");
  await audience.press("#text", "Enter");
  await host.locator("#comments > li", { hasText: "hello" }).waitFor();
  await picture(host, "first-live");
}

/** A network: the first account, and its first post. */
async function joins() {
  begins("a first post");
  const page = await visit(await person(DESKTOP, { lang: "en" }), "/");
  await enter(page, "/sns");
  await page.fill("#register-email", "ada@example.org");
  await page.fill("#register-name", "ada");
  await page.fill("#register-password", PASSWORD);
  await page.press("#register-password", "Enter");
  await page.locator("#inside").waitFor();
  await page.fill("#text", "My first post");
  await page.press("#text", "Control+Enter");
  await page.locator("#list > li", { hasText: "My first post" }).waitFor();
  await picture(page, "first-sns");
}

/** A class: its page has a practice group, with one click. */
async function teaches(operator) {
  begins("a group of a class");
  const page = await visit(operator, "/");
  await enter(page, "/mesh/class");
  assert.equal(await page.textContent("#key"), process.env.NAGAYA_MESH_KEY, "the key is that of the terminal");
  await page.click("#practice");
  await until("everybody who plays", () => page.locator(".group .graph .node").count(), 3);
  await picture(page, "first-mesh");
}

/** A series: the practice source, with one click. */
async function collects(operator) {
  begins("a slot of a series");
  const page = await visit(operator, "/");
  await enter(page, "/collect");
  await page.getByRole("button", { name: "練習用データ元で試す" }).click();
  await page.locator(".notice", { hasText: "練習用データ元を追加しました" }).waitFor();
  const came = () => page.locator("#source-practice .strip :is([data-state=ok], [data-state=late])").count();
  await until("slots that came", async () => (await came()) > 0, true);
  await picture(page, "first-collect");
}

/** A game: the sample, hit once and then left alone until its ten seconds are over. */
async function scores() {
  begins("a play on a board");
  const page = await visit(await person(DESKTOP, { lang: "en" }), "/");
  await enter(page, "/score");
  await page.getByRole("link", { name: "Play the sample game" }).click();
  await page.waitForURL("**/score/play/");
  await page.fill("#player", "Ada");
  await page.press("#player", "Enter");
  await page.keyboard.press(await page.textContent("#house .lit"));
  await until("the rank", async () => /You are number 1\./.test(await page.textContent("#result")), true);
  await page.click("#whole");
  await page.locator("#rows tr", { hasText: "Ada" }).waitFor();
  await picture(page, "first-score");
}

await play(async () => {
  const operator = await person(DESKTOP);
  const page = await visit(operator, "/");
  await setUp(page, PASSWORD);
  await picture(page, "first-console");
  await talks(operator);
  await joins();
  await teaches(operator);
  await collects(operator);
  await scores();
});
