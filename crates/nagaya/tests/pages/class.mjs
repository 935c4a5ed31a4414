// A lesson from the teacher's desk: a practice group shows how it looks, pupils come in, groups
// appear, values move, events flash, forty pupils get names, somebody is removed, and the class ends.

import assert from "node:assert/strict";
import { everyLook, fits, isAccessible, namesItsButtons, picture } from "./appearance.mjs";
import { DESKTOP, PHONE, PROJECTOR, SMALL, go, person, play, setUp, until, url, visit } from "./browser.mjs";
import { advance } from "./clock.mjs";

/** The page reads the class anew so often. */
const LOOK_SECONDS = 3;
/** A group lives for so long without its host: five intervals of half a minute. */
const HOST_LEASE_SECONDS = 150;
const PASSWORD = "a sentence to remember";
const key = process.env.NAGAYA_MESH_KEY;
/** The hiragana of the digits 0 to f, as Smalruby shows them. */
const HIRAGANA = [..."いしかたうんてとのつはこになくき"];
/** The least size of a letter that the last row of a classroom reads, in pixels of a projector. */
const READABLE_PX = 18;

/** Ids as Smalruby makes them, each with another beginning. @param {number} nth */
const pupil = (nth) => (((nth + 1) * 0x9e3779b1) >>> 0).toString(16).padStart(8, "0") + nth.toString(16).padStart(24, "0");
const hiragana = (id) => [...id.slice(0, 6)].map((digit) => HIRAGANA[Number.parseInt(digit, 16)]).join("");

async function mesh(query, variables) {
  const headers = { "content-type": "application/json", "x-api-key": key };
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

const signedIn = async (operator) => (await operator.cookies()).filter(({ name }) => name !== "lang");

/** Nobody is there yet: the page shows how pupils come in, and looks good. */
async function isReady(operator, page) {
  assert.equal(await page.locator("#key").textContent(), key);
  assert.equal(await page.locator("#endpoint").textContent(), `${url}/mesh/graphql`);
  assert.equal(await page.locator("#ways .qr").count(), 1);
  await page.getByRole("button", { name: "キーをコピー" }).click();
  await until("the copied key to be announced", () => page.locator("[data-copied=key]").textContent(), "コピーしました");
  const cookies = await signedIn(operator);
  const enter = (context) => context.addCookies(cookies);
  await everyLook([{ name: "class-empty", path: "/mesh/class", sign: "#practice", enter, check: namesItsButtons }]);
}

/** A practice group moves by itself, and goes with one click. */
async function practises(page) {
  await page.getByRole("button", { name: "練習用グループを始める" }).click();
  const practice = card(page, "練習用グループ");
  await until("everybody who plays", () => practice.locator(".graph .node").count(), 3);
  await practice.locator(".badge", { hasText: "練習用" }).first().waitFor();
  assert.equal(await page.locator("#ways").getAttribute("open"), null, "the group has the room");
  const value = practice.locator(".node", { hasText: "たいこ" }).locator(".value").first();
  await until("a first value", async () => /^明るさ \d+$/.test(await value.textContent()), true);
  const before = await value.textContent();
  await until("another value", async () => (await value.textContent()) !== before, true);
  await until("an event", async () => /^ジャンプ ← (たいこのうた|きのこのいし)$/.test(await practice.locator(".happened").textContent()), true);
  await page.reload();
  await until("the same after a reload", () => practice.locator(".graph .node").count(), 3);
  await practice.getByRole("button", { name: "グループを終了" }).click();
  await page.locator(".empty").waitFor();
  assert.equal(await page.locator(".group").count(), 0);
}

/** A pupil's device says whether it reaches the class, with the key of the link alone. */
async function comesIn(page) {
  const link = await page.locator("#ways dd a").getAttribute("href");
  assert.equal(link, `${url}/mesh/join#key=${key}`);
  const device = await person(PHONE);
  const join = await visit(device, "/mesh/join", 401);
  await join.locator("#reach", { hasText: "キーを入力" }).waitFor();
  await join.fill("#typed", "wrong");
  await join.getByRole("button", { name: "キーを確かめる" }).click();
  await join.locator("#reach", { hasText: "キーが正しくありません" }).waitFor();
  await join.goto(link);
  await join.locator("#reach", { hasText: "✓" }).waitFor();
  await join.locator("#open-groups li", { hasText: "Team <b>Blue</b>" }).waitFor();
  assert.equal(await join.locator("#key").textContent(), key);
  assert.equal(await join.locator("#open-groups b").count(), 0);
  await device.close();
  await everyLook([
    { name: "join", path: `/mesh/join#key=${key}`, sign: "#open-groups li", check: namesItsButtons },
    { name: "join-hira", path: `/mesh/join?lang=ja-Hira#key=${key}`, sign: "html[lang=ja-Hira] #open-groups li" },
  ]);
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
  assert.match(await card(page, "ロボット").locator(".countdown").textContent(), /^\(残り \d+:\d\d\)$/);
  const ends = card(page, "ロボット").locator("time");
  const inTokyo = { hour: "numeric", minute: "2-digit", timeZone: "Asia/Tokyo" };
  assert.equal(await ends.textContent(), new Intl.DateTimeFormat("ja", inTokyo).format(new Date(await ends.getAttribute("datetime"))));
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
  const cookies = await signedIn(operator);
  const shows = (page) => until("members", () => card(page, "ロボット").locator(".graph .node").count(), 6);
  await everyLook([
    { name: "class", path: "/mesh/class", sign: ".group", enter: (context) => context.addCookies(cookies), act: shows, check: namesItsButtons },
    { name: "class-hira", path: "/mesh/class?lang=ja-Hira", sign: "html[lang=ja-Hira] h1:has-text('きょうしつ')", act: shows },
  ]);
}

/** Somebody is removed, and a class ends, after a question each. */
async function ends(page) {
  const questions = [];
  page.expects = (question) => questions.push(question) > 0;
  await card(page, "ロボット").locator("summary").click();
  await card(page, "ロボット").getByRole("button", { name: "じろうを退出させる" }).click();
  await looksAgain(page);
  await until("one less", () => card(page, "ロボット").locator(".graph .node").count(), 5);
  await card(page, "Team").getByRole("button", { name: "Team <b>Blue</b>: グループを終了" }).click();
  await card(page, "Team").waitFor({ state: "detached" });
  assert.equal(questions.length, 2);
}

/** Forty pupils with ids as Smalruby makes them, in three groups: two circles, and one that is too large for it. */
async function fills(page) {
  const sizes = [["3ねん1くみ", 27], ["3ねん2くみ", 8], ["3ねん3くみ", 5]];
  let nth = 0;
  const ids = [];
  const made = [];
  for (const [name, size] of sizes) {
    const some = Array.from({ length: size }, () => pupil(nth++));
    const group = await open(name, some[0]);
    for (const id of some.slice(1)) await join(group, id);
    for (const [at, id] of some.entries()) {
      await report(group, id, [{ key: "明るさ", value: String((at * 37) % 100) }, { key: "温度", value: (18 + (at % 9) / 2).toFixed(1) }]);
    }
    ids.push(...some);
    made.push(group);
  }
  assert.equal(ids.length, 40);
  await looksAgain(page);
  const shown = () => Promise.all(["3ねん1くみ", "3ねん2くみ", "3ねん3くみ"].map(async (name) => {
    const { graph, tiles } = { graph: card(page, name).locator(".graph .node"), tiles: card(page, name).locator(".tile") };
    return [await graph.count(), await tiles.count()];
  }));
  await until("a grid for many, and circles for few", shown, [[0, 27], [8, 0], [5, 0]]);
  const names = await card(page, "3ねん1くみ").locator(".tile strong").allTextContents();
  assert.deepEqual([...names].sort(), ids.slice(0, 27).map(hiragana).sort());
  assert.equal(names[0], hiragana(ids[0]), "the host comes first");
  await fire(made[0], ids[5], "ゴール");
  await card(page, "3ねん1くみ").locator(".tile.flash", { hasText: hiragana(ids[5]) }).waitFor();
  await card(page, "3ねん1くみ").locator(".happened", { hasText: `ゴール ← ${hiragana(ids[5])}` }).waitFor();
  return ids;
}

/** A teacher's name stays over a reload, and in another browser; it is taken back by an empty one. */
async function namesPupils(operator, page, ids) {
  const group = card(page, "3ねん1くみ");
  await group.locator("summary").click();
  const field = group.getByLabel(`${hiragana(ids[3])}の名前`, { exact: true });
  await field.fill(" 佐藤 花子 ");
  await field.press("Enter");
  const isNamed = (on, name) => on.locator(".tile strong", { hasText: name }).waitFor({ state: "attached" });
  await isNamed(page, "佐藤 花子");
  // Who goes on to the next field has written this one.
  await group.getByLabel(`${hiragana(ids[4])}の名前`, { exact: true }).fill("田中 一");
  await group.getByLabel(`${hiragana(ids[5])}の名前`, { exact: true }).focus();
  await isNamed(page, "田中 一");
  await page.reload();
  for (const name of ["佐藤 花子", "田中 一"]) await isNamed(page, name);
  const other = await person(DESKTOP);
  await other.addCookies(await operator.cookies());
  const elsewhere = await visit(other, "/mesh/class");
  await isNamed(elsewhere, "佐藤 花子");
  await elsewhere.locator(".group", { hasText: "3ねん1くみ" }).locator("summary").click();
  const row = elsewhere.locator(".people li", { hasText: "佐藤 花子" });
  assert.equal(await row.locator("[data-slot=alias]").textContent(), hiragana(ids[3]), "what the pupil's screen shows stays");
  const again = row.getByLabel("佐藤 花子の名前", { exact: true });
  await again.fill("");
  await again.press("Enter");
  await isNamed(elsewhere, hiragana(ids[3]));
  await other.close();
  await looksAgain(page);
  await isNamed(page, hiragana(ids[3]));
}

/** A whole class in one group: everybody is seen at once, and their names can be read. */
async function isReadable(operator, page) {
  const name = "4ねん1くみ";
  const all = Array.from({ length: 40 }, (_, nth) => pupil(100 + nth));
  const group = await open(name, all[0]);
  for (const id of all.slice(1)) await join(group, id);
  for (const [at, id] of all.entries()) await report(group, id, [{ key: "明るさ", value: String((at * 37) % 100) }, { key: "x", value: String(at * 5 - 90) }]);
  await looksAgain(page);
  await until("forty tiles", () => card(page, name).locator(".tile").count(), 40);
  for (const viewport of [PROJECTOR, DESKTOP, SMALL]) {
    await page.setViewportSize(viewport);
    await fits(page, `forty on ${viewport.width}`);
    const { height, letters, cuts } = await card(page, name).evaluate((element) => {
      const names = [...element.querySelectorAll(".tile strong")];
      return {
        height: element.querySelector(".tiles").getBoundingClientRect().height,
        letters: Math.min(...names.map((one) => Number.parseFloat(getComputedStyle(one).fontSize))),
        cuts: names.filter((one) => one.scrollWidth > one.clientWidth).length,
      };
    });
    assert.equal(cuts, 0, `${cuts} names are cut on ${viewport.width}`);
    assert.ok(letters >= READABLE_PX, `${letters} px on ${viewport.width}`);
    if (viewport !== SMALL) assert.ok(height <= viewport.height, `${height} px high on ${viewport.width}`);
    await card(page, name).evaluate((element) => element.scrollIntoView());
    await picture(page, `class-forty-${viewport.width}`);
  }
  await page.setViewportSize(DESKTOP);
  await card(page, name).locator("summary").click();
  await isAccessible(page, "forty names");
  await namesItsButtons(page);
  await picture(page, "class-names", { fullPage: true });
  const dark = await person(PROJECTOR, { lang: "en", theme: "dark" });
  await dark.addCookies(await signedIn(operator));
  const there = await visit(dark, "/mesh/class");
  await until("forty tiles", () => card(there, name).locator(".tile").count(), 40);
  await isAccessible(there, "a full class in the dark");
  await picture(there, "class-full-dark-1920", { fullPage: true });
  await dark.close();
}

/** All groups end by one question, with the keyboard alone. */
async function endsAll(page) {
  await page.locator("#overview strong", { hasText: /^5グループ$/ }).waitFor();
  await page.locator(".asking summary").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "すべて終了する");
  await picture(page, "class-end-all");
  await page.keyboard.press("Enter");
  await page.locator(".empty").waitFor();
  assert.equal(await page.locator(".group").count(), 0);
  assert.equal(await page.locator("#overview").isVisible(), false);
}

/** The same without script. */
async function doesWithout(operator) {
  const group = await open("5ねん", pupil(200));
  await join(group, pupil(201));
  await report(group, pupil(201), [{ key: "光", value: "77" }]);
  await open("6ねん", pupil(202));
  const plain = await person(DESKTOP, { javaScriptEnabled: false });
  await plain.addCookies(await operator.cookies());
  const page = await visit(plain, "/mesh/class");
  const row = page.locator(".people li", { hasText: "光: 77" });
  await card(page, "5ねん").locator("summary").click();
  await row.waitFor();
  await row.getByLabel(`${hiragana(pupil(201))}の名前`, { exact: true }).fill("鈴木");
  await row.getByRole("button", { name: /の名前を保存/ }).click();
  await card(page, "5ねん").locator("summary").click();
  await row.locator("strong", { hasText: "鈴木" }).waitFor();
  await card(page, "5ねん").getByRole("button", { name: "グループを終了" }).click();
  await until("one group", () => page.locator(".group").count(), 1);
  await page.locator(".asking summary").click();
  await page.getByRole("button", { name: "すべて終了する" }).click();
  await page.locator(".empty").waitFor();
  await plain.close();
}

await play(async () => {
  const operator = await person(DESKTOP);
  await operator.clock.install();
  const page = await signIn(operator);
  await isReady(operator, page);
  await practises(page);
  const groups = await appears(page);
  await comesIn(page);
  await moves(page, groups[0]);
  await beats(page, groups);
  await resumes(page, groups[0]);
  await looks(operator);
  await ends(page);
  const ids = await fills(page);
  await namesPupils(operator, page, ids);
  await isReadable(operator, page);
  await endsAll(page);
  await doesWithout(operator);
});
