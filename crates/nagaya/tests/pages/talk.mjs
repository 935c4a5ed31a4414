// A talk: a host, three participants, a wall.

import assert from "node:assert/strict";
import { text as readText } from "node:stream/consumers";
import { picture } from "./appearance.mjs";
import { LAPTOP, PHONE, PROJECTOR, begins, go, person, play, until, url, visit } from "./browser.mjs";
import { isHalfWay, runAt } from "./wall.mjs";

/** The rate of the wall: a comment that flies is still there when the story looks, on any machine. */
const SLOWLY = 0.2;

const comment = (page, text) => page.locator("#comments > li", { hasText: text });
/** The texts of the list, newest first. */
const texts = (page) => page.locator("#comments > li .said").allTextContents();
const flies = (wall, text) => wall.locator(".fly:not([hidden])", { hasText: text });

async function say(page, text) {
  begins(`saying ${text}`);
  await page.fill("#text", text);
  await page.press("#text", "Enter");
  await until("the field to be empty", () => page.inputValue("#text"), "");
}

async function openRoom() {
  const host = await visit(await person(LAPTOP), "/live");
  await host.fill("#name", "長屋の作り方");
  await host.click("#start button");
  await host.waitForSelector("#desk:not([hidden])");
  return { host, code: await host.textContent(".way .code") };
}

async function join(code, nickname, how) {
  // Some speak too fast, and one too late.
  const page = await visit(await person(PHONE, how), "/live", 409, 429);
  // Codes are read aloud and typed as they are heard.
  await page.fill("#code", ` ${code.slice(0, 3)} ${code.slice(3).toLowerCase()}`);
  await page.click("form[action='/live/join'] button");
  await page.fill("#nickname", nickname);
  return page;
}

/** Enter that ends a conversion of kana sends nothing. */
async function converts(page) {
  await page.fill("#text", "かな");
  await page.dispatchEvent("#text", "keydown", { key: "Enter", isComposing: true, bubbles: true });
  assert.equal(await page.inputValue("#text"), "かな");
  await page.press("#text", "Shift+Enter");
  assert.equal(await page.inputValue("#text"), "かな\n");
}

async function talks({ wall, host }, [hanako, ada, ben]) {
  await converts(hanako);
  await say(hanako, "はじめまして 👩‍👩‍👧‍👦🎉");
  await say(ada, "<script>document.title='taken'</script><img src=x onerror=alert(1)>");
  await say(ben, "עברית \u202Etxt.exe");
  await say(ada, "How do the lanes work?");
  for (const text of ["はじめまして", "<script>", "עברית", "lanes"]) {
    await comment(host, text).waitFor();
    await flies(wall, text).waitFor();
  }
  assert.equal(await wall.locator("#join").isVisible(), false, "the code makes room for the first comment");
  assert.equal(await host.locator("#next").isVisible(), false);
  await isHalfWay(wall);
  await picture(wall, "talk-wall");
  for (const page of [wall, host, hanako, ada, ben]) {
    assert.notEqual(await page.title(), "taken");
    assert.equal(await page.locator("img").count(), 0);
  }
  // Directions end with the text that sets them.
  const strange = comment(hanako, "עברית");
  const [name, time] = [strange.locator(".who bdi"), strange.locator("time")];
  assert.ok((await name.boundingBox()).x < (await time.boundingBox()).x);
  assert.equal(await strange.locator(".said").textContent(), "עברית txt.exe");
  const bidi = (one) => one.evaluate((element) => getComputedStyle(element).unicodeBidi);
  assert.equal(await bidi(strange.locator(".said")), "isolate");
  assert.equal(await bidi(flies(wall, "עברית").locator("span")), "isolate");
}

async function moderates({ wall, host }, [hanako, ada]) {
  begins("moderating");
  // Nothing leaves the wall by itself.
  await runAt(wall, 0);
  await comment(host, "<script>").getByRole("button", { name: "非表示にする" }).click();
  await comment(hanako, "<script>").waitFor({ state: "detached" });
  await flies(wall, "<script>").waitFor({ state: "detached" });
  await comment(host, "<script>").getByText("非表示", { exact: true }).waitFor();

  await comment(host, "lanes").getByRole("button", { name: "ピン留め" }).click();
  await wall.locator("#pinned:not([hidden])", { hasText: "lanes" }).waitFor();
  await comment(host, "lanes").getByRole("button", { name: "回答済みにする" }).click();
  await wall.locator("#pinned").waitFor({ state: "hidden" });
  await comment(ada, "lanes").getByText("Answered", { exact: true }).waitFor();

  await comment(ada, "はじめまして").getByRole("button", { name: "Like" }).click();
  await until("a like", () => comment(host, "はじめまして").locator("[data-slot=likes]").textContent(), "1");
  await hanako.click("[data-reaction='👏']");
  await wall.locator("#burst span", { hasText: "👏" }).first().waitFor({ state: "attached" });
  await runAt(wall, SLOWLY);

  await host.check("[name=pre]");
  await ada.locator("#state-pre").waitFor();
  await say(ada, "may I?");
  await until("what waits", () => host.locator("dd[data-slot=waiting]").textContent(), "1");
  await host.selectOption("#filter", "is-waiting");
  await until("the queue", () => host.locator("#comments > li:visible").count(), 1);
  assert.equal(await comment(hanako, "may I?").count(), 0);
  await comment(host, "may I?").getByRole("button", { name: "表示する" }).click();
  await comment(hanako, "may I?").waitFor();
  await host.selectOption("#filter", "");
  await host.fill("#search", "lanes");
  await until("what is searched for", () => host.locator("#comments > li:visible").count(), 1);
  await host.fill("#search", "");
  await host.uncheck("[name=pre]");

  await host.selectOption("[name=slow]", "30");
  await ada.locator("#state-slow", { hasText: "30" }).waitFor();
  await say(ada, "slowly");
  await ada.fill("#text", "too soon");
  await ada.press("#text", "Enter");
  await ada.locator("#problem", { hasText: /slow mode.*\d+ s/ }).waitFor();
  await host.selectOption("[name=slow]", "0");
  await host.check("#settings [name=paused]");
  await ada.locator("#state-paused").waitFor();
  await ada.fill("#text", "in the pause");
  await ada.press("#text", "Enter");
  await ada.locator("#problem", { hasText: "paused" }).waitFor();
  await host.uncheck("#settings [name=paused]");
  await ada.locator("#state-paused").waitFor({ state: "hidden" });
  await ada.fill("#text", "");
}

/** Two desks of one host lose no word of each other, and the author of a held comment sees a note. */
async function blocks({ host }, [hanako, ada]) {
  begins("blocking words at two desks");
  const other = await visit(host.context(), new URL(host.url()).pathname);
  await other.waitForSelector("#desk:not([hidden])");
  await other.fill("#blocked-words", "Rude");
  for (const [desk, word] of [[host, "スパム"], [other, "Rude"]]) {
    await desk.fill("#blocked-words", word);
    await desk.click("#settings .field button");
    await desk.locator("#told", { hasText: "保存しました" }).waitFor();
  }
  for (const desk of [host, other]) {
    await until("both words", () => desk.inputValue("#blocked-words"), "スパム\nRude");
  }
  await say(hanako, "すぱむです");
  await hanako.locator("#sent", { hasText: "ホストの承認後に表示されます" }).waitFor();
  await picture(hanako, "talk-held");
  await say(ada, "ＲＵＤＥ!");
  await ada.locator("#sent", { hasText: "after the host approves it" }).waitFor();
  await picture(ada, "talk-held-en");
  await until("what waits", () => host.locator("dd[data-slot=waiting]").textContent(), "2");
  await other.fill("#blocked-words", "Rude");
  await other.click("#settings .field button");
  await until("one word", () => host.inputValue("#blocked-words"), "Rude");
  await picture(host, "talk-desk", { fullPage: true });
  await other.close();
  await say(ada, "polite");
  await until("no note", () => ada.textContent("#sent"), "");
  await comment(hanako, "polite").waitFor();
}

/** Who was away has missed nothing, hears nothing twice, and what they wrote is said once. */
async function isAway({ host }, [hanako, ada, ben]) {
  await ben.context().setOffline(true);
  begins("waiting in the tunnel");
  await ben.locator("#state-offline").waitFor();
  for (const text of ["一", "二", "三"]) await say(hanako, text);
  await ben.fill("#text", "from the tunnel");
  await ben.press("#text", "Enter");
  await ben.locator("#problem:not(:empty)").waitFor();
  await ben.context().setOffline(false);
  await ben.locator("#state-offline").waitFor({ state: "hidden" });
  await comment(ada, "from the tunnel").waitFor();
  await until("the same list for all", () => texts(ben), await texts(ada));
  const list = await texts(ben);
  for (const text of ["一", "二", "三", "from the tunnel"]) {
    assert.equal(list.filter((one) => one === text).length, 1, text);
  }
  assert.ok(list.indexOf("三") < list.indexOf("二") && list.indexOf("二") < list.indexOf("一"));
  await comment(host, "from the tunnel").waitFor();
}

async function usesKeys(wall, [hanako]) {
  await wall.keyboard.press("l");
  await until("the list", () => texts(wall), await texts(hanako));
  await wall.reload();
  await until("the list after a reload", () => texts(wall), await texts(hanako));
  // Others have the lanes first, and from now on comments need not stay.
  await runAt(wall, 1);
  await flies(wall, "from the tunnel").waitFor();
  await wall.keyboard.press("q");
  await wall.locator("#join .qr").waitFor();
  await wall.keyboard.press("h");
  assert.deepEqual([await flies(wall, "").count(), await wall.locator("#join").isVisible()], [0, false]);
  await wall.reload();
  assert.equal(await wall.locator("#flow").isVisible(), false, "a reload does not end the panic");
  await wall.keyboard.press("h");
  await wall.keyboard.press("?");
  await wall.locator("#help").waitFor();
  await wall.keyboard.press("Escape");
  await wall.locator("#help").waitFor({ state: "hidden" });
  await wall.keyboard.press("Space");
  await wall.locator("#note", { hasText: "一時停止中" }).waitFor();
  await say(hanako, "while it stands");
  await comment(wall, "while it stands").waitFor({ state: "attached" });
  assert.equal(await flies(wall, "while it stands").count(), 0);
  await wall.keyboard.press("Space");
  await flies(wall, "while it stands").waitFor();

  const size = await wall.locator("#flow").evaluate((flow) => flow.style.getPropertyValue("--size"));
  await wall.keyboard.press("+");
  const larger = await wall.locator("#flow").evaluate((flow) => flow.style.getPropertyValue("--size"));
  assert.ok(parseInt(larger) > parseInt(size), `${larger} is larger than ${size}`);

  const calm = await visit(await person(PROJECTOR, { reducedMotion: "reduce" }), new URL(wall.url()).pathname);
  await until("a calm list", () => texts(calm), await texts(hanako));
  assert.equal(await calm.locator("#flow").isVisible(), false);
  await go(calm, `${new URL(wall.url()).pathname}?transparent=1`);
  const background = await calm.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(background, "rgba(0, 0, 0, 0)");
}

/** The desk controls every wall of the room, also one that was away; what is pinned is found by all. */
async function controls({ host, wall }, [hanako]) {
  begins("controlling the walls");
  const other = await visit(await person(PROJECTOR), new URL(wall.url()).pathname);
  const walls = [wall, other];
  const each = (what, look, wanted) => Promise.all(walls.map((one) => until(what, () => look(one), wanted)));
  const shows = (id) => (one) => one.locator(`#${id}`).isVisible();
  await host.getByLabel("すべて隠す").check();
  await each("hidden walls", shows("flow"), false);
  await say(hanako, "nobody sees this");
  await host.getByLabel("すべて隠す").uncheck();
  await each("walls that show comments", shows("flow"), true);
  assert.equal(await flies(wall, "nobody sees this").count(), 0);

  await other.context().setOffline(true);
  const choose = (name) => host.locator("#walls label", { hasText: name }).locator("input");
  await choose("隅に表示").check();
  await choose("上半分").check();
  await host.locator("#walls [name=letters]").selectOption("8");
  const stage = (one) => one.locator("#stage").boundingBox();
  await until("the upper half", async () => (await stage(wall)).height, PROJECTOR.height / 2);
  assert.equal((await stage(other)).height, PROJECTOR.height, "a wall without a connection stays as it was");
  await other.context().setOffline(false);
  await each("the upper half", async (one) => (await stage(one)).height, PROJECTOR.height / 2);
  await each("the code in the corner", shows("join"), true);
  await each("large letters", (one) => one.locator("#flow").evaluate((flow) => flow.style.getPropertyValue("--size")), "87px");
  await say(hanako, "above the slides");
  for (const one of walls) {
    await flies(one, "above the slides").waitFor();
    const { y, height } = await flies(one, "above the slides").boundingBox();
    assert.ok(y + height <= PROJECTOR.height / 2, "it flies in the upper half");
  }
  await picture(wall, "talk-wall-area");

  await choose("全画面").first().check();
  await each("the code on the full screen", async (one) => (await one.locator("#join").boundingBox()).height, PROJECTOR.height);
  await picture(wall, "talk-wall-qr");
  await choose("なし").check();
  await each("no code", shows("join"), false);
  await choose("全画面").last().check();
  await host.locator("#walls [name=letters]").selectOption("0");
  await host.getByLabel("流れを止める").check();
  await each("walls that stand", (one) => one.textContent("#note"), "一時停止中");
  await host.getByLabel("流れを止める").uncheck();
  await each("walls that go on", (one) => one.textContent("#note"), "");
  await other.close();
}

/** Lists and the form are whole without script. */
async function doesWithout(wall, code, [hanako]) {
  const plain = await visit(await person(PHONE, { javaScriptEnabled: false, lang: "en" }), `/live/r/${code}`, 400);
  assert.deepEqual(await texts(plain), await texts(hanako));
  assert.equal(await plain.locator("#reactions").isVisible(), false);
  await plain.fill("#text", "plain paper");
  await plain.click("#send");
  await comment(plain, "plain paper").waitFor();
  await comment(hanako, "plain paper").waitFor();
  await plain.fill("#text", "rude paper");
  await plain.click("#send");
  await plain.locator("#sent", { hasText: "after the host approves it" }).waitFor();
  await plain.fill("#text", "x".repeat(201));
  await plain.click("#send");
  await plain.locator("#problem", { hasText: "too long" }).waitFor();
  await plain.goto(wall.url());
  await until("a list without script", () => texts(plain), await texts(hanako));
  assert.ok(await comment(plain, "plain paper").isVisible());
}

async function ends({ wall, host, code }, people) {
  const [file] = await Promise.all([host.waitForEvent("download"), host.click("[data-export=csv]")]);
  const rows = await readText(await file.createReadStream());
  assert.ok(rows.includes("はじめまして") && rows.includes("HIDDEN"), rows);

  host.expects = (message) => message.includes("終了");
  await host.click("#close");
  for (const page of people) {
    await page.locator("#state-closed").waitFor();
    await page.locator("#compose").waitFor({ state: "hidden" });
  }
  const body = new URLSearchParams({ content: "too late" });
  const late = await fetch(`${url}/live/r/${code}`, { method: "POST", body });
  assert.equal(late.status, 409);
  assert.ok((await late.text()).includes("The room is closed."));
  await go(host, "/live");
  await host.locator("#rooms li", { hasText: "長屋の作り方" }).getByText("終了").waitFor();

  // Another browser sees nothing of the desk, and the address holds no secret.
  const stranger = await visit(await person(LAPTOP), `/live/host/${wall.url().split("/").pop()}`);
  await stranger.locator("#stranger").waitFor();
  assert.equal(await stranger.locator("#desk").isVisible(), false);
}

await play(async () => {
  const { host, code } = await openRoom();
  const people = await Promise.all([
    join(code, "花子"),
    join(code, "Ada", { lang: "en", theme: "dark" }),
    join(code, "", { lang: "en" }),
  ]);
  await until("who is here", () => host.locator("dd[data-slot=viewers]").textContent(), "4");
  // Before the first comment, the desk says what to do next, and the wall is a way in.
  await host.locator("#next", { hasText: code }).waitFor();
  await picture(host, "talk-desk-first", { fullPage: true });
  const path = await host.getByText("スクリーンを開く").getAttribute("href");
  const wall = await visit(await person(PROJECTOR), path);
  await wall.locator("#join .qr").waitFor();
  await picture(wall, "talk-wall-first");
  await runAt(wall, SLOWLY);
  const room = { host, wall, code };
  await talks(room, people);
  await moderates(room, people);
  await blocks(room, people);
  await isAway(room, people);
  await usesKeys(wall, people);
  await controls(room, people);
  await doesWithout(wall, code, people);
  await ends(room, people);
});
