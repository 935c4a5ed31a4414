// The first minute in a browser, by somebody who has seen only the terminal: the set-up link, and
// from the front of the house into each room by what its pages offer.

import assert from "node:assert/strict";
import { picture } from "./appearance.mjs";
import { DESKTOP, PHONE, begins, go, person, play, setUp, until, url, visit } from "./browser.mjs";

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

/** A class: a program with the key of the terminal opens a group, and the page of the class shows it. */
async function teaches(operator) {
  begins("a group of a class");
  const page = await visit(operator, "/");
  await enter(page, "/mesh/class");
  const query = `mutation { createGroup(name: "1-2", hostId: "ada", domain: "local") { id } }`;
  const headers = { "content-type": "application/json", "x-api-key": process.env.NAGAYA_MESH_KEY };
  const answer = await fetch(`${url}/mesh/graphql`, { method: "POST", headers, body: JSON.stringify({ query }) });
  assert.equal((await answer.json()).errors, undefined);
  await until("the group", () => page.locator(".group", { hasText: "1-2" }).count(), 1);
  await picture(page, "first-mesh");
}

await play(async () => {
  const operator = await person(DESKTOP);
  const page = await visit(operator, "/");
  await setUp(page, PASSWORD);
  await picture(page, "first-console");
  await talks(operator);
  await joins();
  await teaches(operator);
});
