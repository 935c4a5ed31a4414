// A lesson from the teacher's desk: groups appear, values move, events flash, somebody is removed,
// and the class ends.

import assert from "node:assert/strict";
import { everyLook } from "./appearance.mjs";
import { DESKTOP, go, person, play, setUp, until, url, visit } from "./browser.mjs";
import { advance } from "./clock.mjs";

/** The page reads the class anew so often. */
const LOOK_SECONDS = 3;
/** A group lives for so long without its host: five intervals of half a minute. */
const HOST_LEASE_SECONDS = 150;
const PASSWORD = "a sentence to remember";

async function mesh(query, variables) {
  const headers = { "content-type": "application/json", "x-api-key": process.env.NAGAYA_MESH_KEY };
  const answer = await fetch(`${url}/mesh/graphql`, { method: "POST", headers, body: JSON.stringify({ query, variables }) });
  const { data, errors } = await answer.json();
  assert.equal(errors, undefined, JSON.stringify(errors));
  return data;
}

const where = (group) => ({ g: group, d: "local" });
const open = async (name, hostId) =>
  (await mesh(`mutation ($name: String!, $hostId: ID!) { createGroup(name: $name, hostId: $hostId, domain: "local") { id } }`, { name, hostId })).createGroup.id;
const join = (group, n) => mesh("mutation ($g: ID!, $d: String!, $n: ID!) { joinGroup(groupId: $g, domain: $d, nodeId: $n) { id } }", { ...where(group), n });
const report = (group, n, data) =>
  mesh("mutation ($g: ID!, $d: String!, $n: ID!, $data: [SensorDataInput!]!) { reportDataByNode(groupId: $g, domain: $d, nodeId: $n, data: $data) { groupId } }", { ...where(group), n, data });
const fire = (group, n, eventName) =>
  mesh("mutation ($g: ID!, $d: String!, $n: ID!, $e: [EventInput!]!) { fireEventsByNode(groupId: $g, domain: $d, nodeId: $n, events: $e) { groupId } }",
    { ...where(group), n, e: [{ eventName, firedAt: new Date().toISOString() }] });
const renew = (group, h) =>
  mesh("mutation ($g: ID!, $d: String!, $h: ID!) { renewHeartbeat(groupId: $g, domain: $d, hostId: $h) { expiresAt } }", { ...where(group), h });

async function signIn(operator) {
  const page = await visit(operator, "/mesh/class");
  assert.equal(new URL(page.url()).pathname, "/console/sign-in");
  await setUp(page, PASSWORD);
  await go(page, "/mesh/class");
  await page.locator(".empty").waitFor();
  return page;
}

/** Lets the page read the class now, not in some seconds. */
const looksAgain = (page) => page.clock.fastForward(LOOK_SECONDS * 1_000);

const card = (page, name) => page.locator(".group", { hasText: name });

/** A group that is opened later appears by itself, with everybody in it. */
async function appears(page) {
  const first = await open("1ねん2くみ ロボット", "せんせい");
  const second = await open("Team <b>Blue</b>", "Ada");
  for (const name of ["はなこ", "たろう", "じろう", "Ben", "Eve"]) await join(first, name);
  await join(second, "Charles");
  await looksAgain(page);
  await until("members around the host", () => card(page, "ロボット").locator(".graph .node").count(), 6);
  assert.equal(await card(page, "Team").locator("b").count(), 0);
  assert.match(await card(page, "ロボット").locator(".countdown").textContent(), /^\d+:\d\d$/);
  return [first, second];
}

async function moves(page, group) {
  await page.locator("#state", { hasText: "ライブ" }).waitFor();
  await report(group, "はなこ", [{ key: "光", value: "42" }, { key: "温度", value: "21.5" }]);
  await card(page, "ロボット").locator(".node text", { hasText: "光 42" }).waitFor();
  await report(group, "はなこ", [{ key: "光", value: "77" }]);
  await card(page, "ロボット").locator(".node text", { hasText: "光 77" }).waitFor();
  await card(page, "ロボット").locator(".node text", { hasText: "温度 21.5" }).waitFor();
  await fire(group, "たろう", "スタート!");
  await card(page, "ロボット").locator(".happened", { hasText: "スタート! ← たろう" }).waitFor();
  await card(page, "ロボット").locator(".node.flash", { hasText: "たろう" }).waitFor();
}

/** The ring of a host runs out, and a heartbeat fills it. */
async function beats(page, [group, other]) {
  const ring = card(page, "ロボット").locator(".node.host .ring");
  const isBetween = async (low, high) => {
    const share = Number.parseFloat(await ring.getAttribute("stroke-dasharray"));
    return share >= low && share <= high;
  };
  await until("a full ring", () => isBetween(80, 100), true);
  await advance(HOST_LEASE_SECONDS / 2, page);
  await until("half a ring", () => isBetween(30, 50), true);
  await card(page, "ロボット").locator(".node.host .ring.late").waitFor();
  for (const [one, host] of [[group, "せんせい"], [other, "Ada"]]) await renew(one, host);
  await looksAgain(page);
  await until("a full ring after a heartbeat", () => isBetween(80, 100), true);
  await card(page, "ロボット").locator(".node.host .ring:not(.late)").waitFor();
}

/** Who was away is told what happened meanwhile. */
async function resumes(page, group) {
  await page.context().setOffline(true);
  await page.locator("#state", { hasText: "再接続" }).waitFor();
  await fire(group, "はなこ", "おかえり");
  const [asked] = await Promise.all([
    page.waitForRequest((request) => request.url().includes("/mesh/class/stream")),
    page.context().setOffline(false),
  ]);
  const { searchParams } = new URL(asked.url());
  assert.equal(searchParams.get("groups").split(",").length, 2, asked.url());
  assert.ok(searchParams.get("after"), asked.url());
  await page.locator("#state", { hasText: "ライブ" }).waitFor();
  await card(page, "ロボット").locator(".happened", { hasText: "おかえり ← はなこ" }).waitFor();
}

async function looks(operator) {
  const cookies = (await operator.cookies()).filter(({ name }) => name !== "lang");
  const shows = (page) => until("members", () => card(page, "ロボット").locator(".graph .node").count(), 6);
  await everyLook([
    { name: "class", path: "/mesh/class", sign: ".group", enter: (context) => context.addCookies(cookies), act: shows },
    { name: "class-hira", path: "/mesh/class?lang=ja-Hira", sign: "html[lang=ja-Hira] h1:has-text('きょうしつ')", act: shows },
  ]);
}

/** Somebody is removed, and a class ends, after a question each. */
async function ends(page) {
  const questions = [];
  page.expects = (question) => questions.push(question) > 0;
  await card(page, "ロボット").locator("summary").click();
  await card(page, "ロボット").getByRole("button", { name: "退出させる じろう" }).click();
  await looksAgain(page);
  await until("one less", () => card(page, "ロボット").locator(".graph .node").count(), 5);
  await card(page, "Team").getByRole("button", { name: "授業を終了" }).click();
  await card(page, "Team").waitFor({ state: "detached" });
  assert.equal(questions.length, 2);
}

/** The same without script. */
async function doesWithout(operator) {
  const plain = await person(DESKTOP, { javaScriptEnabled: false });
  await plain.addCookies(await operator.cookies());
  const page = await visit(plain, "/mesh/class");
  await page.locator("summary").click();
  await page.locator(".people li", { hasText: "光: 77" }).waitFor();
  await page.getByRole("button", { name: "授業を終了" }).click();
  await page.locator(".empty").waitFor();
  await plain.close();
}

await play(async () => {
  const operator = await person(DESKTOP);
  await operator.clock.install();
  const page = await signIn(operator);
  const groups = await appears(page);
  await moves(page, groups[0]);
  await beats(page, groups);
  await resumes(page, groups[0]);
  await looks(operator);
  await ends(page);
  await doesWithout(operator);
});
