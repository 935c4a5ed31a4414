// Two neighbours: one on a phone in Japanese, one at a desk in English. They register, find each
// other, speak, like, leave for a while, delete, and part.

import assert from "node:assert/strict";
import { isAccessible, picture } from "./appearance.mjs";
import { DESKTOP, SMALL, begins, go, person, play, until, url, visit } from "./browser.mjs";

const PASSWORD = "correct horse battery";

const texts = (page) => page.locator("#list .content").allTextContents();
const post = (page, text) => page.locator("#list > li", { hasText: text });
const likes = (page, text) => post(page, text).locator('[data-slot="likes"]').textContent();
const unread = (page) => page.locator('#unread [data-slot="unread"]').textContent();

async function register(page, name) {
  await page.fill("#register-email", `${name}@example.org`);
  await page.fill("#register-name", name);
  await page.fill("#register-password", PASSWORD);
  await page.press("#register-password", "Enter");
  await page.locator("#inside").waitFor();
  await page.locator("#empty").waitFor();
}

async function says(page, text) {
  await page.fill("#text", text);
  await page.press("#text", "Control+Enter");
  await post(page, text).waitFor();
  // The next one begins anew.
  await until("all letters are left", () => page.textContent("#left"), "280");
  await until("nothing to send", () => page.isDisabled("#compose button"), true);
}

/** Calls the house as who is logged in on a page. */
async function calls(page, method, path, body) {
  const { token } = await page.evaluate(() => JSON.parse(localStorage.getItem("nagaya.sns")));
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}/sns/v1${path}`, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
}

/** Nobody gets in without a name of its own, and is told why in its language. */
async function enter(ada, bob) {
  await isAccessible(ada, "the way in");
  await register(ada, "ada");
  await bob.fill("#register-email", "bob@example.org");
  await bob.fill("#register-name", "ADA");
  await bob.fill("#register-password", PASSWORD);
  await bob.click("#register button");
  await bob.locator("#register .alert", { hasText: "the username `ADA` is taken" }).waitFor();
  await register(bob, "bob");
  assert.match(await ada.locator("#empty").textContent(), /まだ投稿がありません/);
  assert.match(await bob.locator("#empty").textContent(), /No posts yet/);
}

async function meet(ada, bob) {
  await bob.fill("#find", "nobody-here");
  await bob.press("#find", "Enter");
  await bob.locator("#nobody").waitFor();
  await bob.fill("#find", "@Ada");
  await bob.press("#find", "Enter");
  await bob.waitForURL("**/sns/u/Ada");
  await bob.click("#follow");
  await bob.locator('#follow[aria-pressed="true"]', { hasText: "Following" }).waitFor();
  await until("followers", () => bob.locator('[data-slot="followers"]').textContent(), "1");
  await until("what is unread", () => unread(ada), "1");
  await bob.click(".rail a:first-child");
  await bob.locator("#away").waitFor({ state: "hidden" });
  await bob.locator("#empty").waitFor();
}

/** What one says stands at the other's without a touch, whatever it looks like. */
async function speak(ada, bob) {
  await says(ada, "こんにちは、<b>長屋</b>のみなさん");
  await post(bob, "こんにちは、<b>長屋</b>のみなさん").waitFor();
  await ada.fill("#text", "長".repeat(281));
  assert.equal(await ada.textContent("#left"), "-1");
  assert.equal(await ada.isDisabled("#compose button"), true);
  await ada.fill("#text", `${"👩‍👩‍👧‍👦".repeat(280)}\n`);
  assert.equal(await ada.textContent("#left"), "0");
  await ada.fill("#text", "");

  await post(bob, "こんにちは").locator(".like").click();
  await until("likes at the author", () => likes(ada, "こんにちは"), "1");
  await until("likes at who likes", () => likes(bob, "こんにちは"), "1");
  // A key, unlike a click, does not wait until the button may be pressed.
  await post(bob, "こんにちは").locator('.like[aria-pressed="true"]:enabled').waitFor();
  await until("what is unread", () => unread(ada), "2");
  await post(bob, "こんにちは").locator(".like").press("Enter");
  await until("likes taken back", () => likes(ada, "こんにちは"), "0");
  await post(bob, "こんにちは").locator(".like").click();
  await until("liked again", () => likes(ada, "こんにちは"), "1");
}

async function readNotes(ada, bob) {
  await ada.click('.rail a[href="/sns/notifications"]');
  await ada.locator(".note", { hasText: "bobさんがあなたをフォローしました" }).waitFor();
  const liked = ada.locator(".note", { hasText: "bobさんがあなたの投稿に「いいね」しました" });
  await liked.locator(".quote", { hasText: "こんにちは" }).waitFor();
  await ada.locator("#unread").waitFor({ state: "hidden" });
  await picture(ada, "sns-notes");
  await liked.locator(".quote").click();
  await ada.locator("#likers .person", { hasText: "@bob" }).waitFor();
  await go(ada, "/sns");
  await ada.locator("#unread").waitFor({ state: "hidden" });
  await post(ada, "こんにちは").waitFor();
}

/** A new name is one's own, and nobody else's in the list below; what is liked is counted. */
async function rename(bob) {
  await go(bob, "/sns/u/bob/likes");
  await post(bob, "こんにちは").waitFor();
  await until("what bob likes", () => bob.locator('.tabs [data-slot="likes"]').textContent(), "1");
  await bob.click("#settings summary");
  await bob.fill("#display-name", "Bobby");
  await bob.click("#change button");
  await until("the new name", () => bob.locator('h1 [data-slot="name"]').textContent(), "Bobby");
  assert.deepEqual(await bob.locator('#list [data-slot="name"]').allTextContents(), ["ada"]);
  await go(bob, "/sns");
  await post(bob, "こんにちは").waitFor();
}

/** Twenty at a time; what comes while one is far below waits on top. */
async function scroll(ada, bob) {
  for (let number = 1; number <= 45; number += 1) {
    await calls(ada, "POST", "/posts", { content: `number ${number}` });
  }
  await post(bob, "number 45").waitFor();
  await bob.reload();
  await until("the first part", async () => (await texts(bob)).length >= 20, true);
  await bob.locator("#more").scrollIntoViewIfNeeded();
  await until("all of it", async () => {
    await bob.evaluate(() => scrollTo(0, document.body.scrollHeight));
    return (await texts(bob)).length;
  }, 46);
  const all = await texts(bob);
  assert.deepEqual(all.slice(0, 45), Array.from({ length: 45 }, (_, at) => `number ${45 - at}`));
  assert.equal(await bob.isHidden("#more"), true);
  await until("far below", () => bob.evaluate(() => scrollY > 1_000), true);
  await says(ada, "さいごのひとこと");
  await bob.locator("#fresh", { hasText: "New posts: 1" }).click();
  await until("on top", () => bob.evaluate(() => scrollY), 0);
  assert.equal((await texts(bob))[0], "さいごのひとこと");
}

async function leaveForAWhile(ada, bob) {
  begins("leaving for a while");
  await bob.context().setOffline(true);
  await bob.locator("#away").waitFor();
  await says(ada, "留守の間に");
  await bob.context().setOffline(false);
  await post(bob, "留守の間に").waitFor();
  await bob.locator("#away").waitFor({ state: "hidden" });
}

async function takeBack(ada, bob) {
  begins("taking a post back");
  await post(ada, "留守の間に").locator(".delete").click();
  await ada.locator("#ask", { hasText: "この投稿を削除しますか" }).waitFor();
  await isAccessible(ada, "the question");
  await ada.keyboard.press("Escape");
  await post(ada, "留守の間に").waitFor();
  await post(ada, "留守の間に").locator(".delete").click();
  await ada.click("#ask .danger");
  await post(ada, "留守の間に").waitFor({ state: "detached" });
  await post(bob, "留守の間に").waitFor({ state: "detached" });
  assert.equal(await post(bob, "さいごの").locator(".delete").isHidden(), true);
}

/** Two tabs whose token is over at the same moment bring one next token. */
async function renew(bob) {
  begins("renewing tokens");
  // Of two tabs that come at once one is told to wait.
  const other = await visit(bob.context(), "/sns", 401, 409);
  await post(other, "さいごの").waitFor();
  const stale = () => {
    const session = JSON.parse(localStorage.getItem("nagaya.sns"));
    const broken = `${session.token.slice(0, -8)}AAAAAAAA`;
    localStorage.setItem("nagaya.sns", JSON.stringify({ ...session, token: broken }));
    return session.refreshToken;
  };
  const before = await bob.evaluate(stale);
  await Promise.all([bob.reload(), other.reload()]);
  for (const page of [bob, other]) await post(page, "さいごの").waitFor();
  const after = await bob.evaluate(() => JSON.parse(localStorage.getItem("nagaya.sns")).refreshToken);
  assert.notEqual(after, before);
  await bob.evaluate(stale);
  await bob.reload();
  await post(bob, "さいごの").waitFor();
  return other;
}

/** A mute and a block are seen on the profile, listed to who made them, and lifted from the list. */
async function avoids(bob) {
  for (const [act, list, done, lift] of [["mute", "mutes", "Muted", "Mute"], ["block", "blocks", "Blocked", "Block"]]) {
    await go(bob, "/sns/u/ada");
    await bob.click(`#${act}`);
    await bob.locator(`#${act}[aria-pressed="true"]`, { hasText: done }).waitFor();
    await until("who can be followed", () => bob.isHidden("#follow"), act === "block");
    await picture(bob, `sns-${act}`);
    await go(bob, "/sns/u/bob");
    await bob.click("#settings summary");
    await bob.click(`#settings a[href$="/${list}"]`);
    await bob.waitForURL(`**/sns/u/bob/${list}`);
    const button = bob.locator(".person", { hasText: "@ada" }).getByRole("button", { name: `${done}: ada`, exact: true });
    await button.waitFor();
    await isAccessible(bob, list);
    await picture(bob, `sns-${list}`);
    await button.click();
    await bob.locator(".person").getByRole("button", { name: `${lift}: ada`, exact: true }).waitFor();
    await bob.reload();
    await bob.locator("#empty").waitFor();
  }
}

async function part(ada, bob, other) {
  begins("parting");
  await go(bob, "/sns/u/ada");
  await bob.click('#follow[aria-pressed="true"]');
  await until("an empty timeline", async () => (await texts(other)).length, 0);
  await other.locator("#empty").waitFor();

  await avoids(bob);
  await bob.click("#leave");
  for (const page of [bob, other]) await page.locator("#entry").waitFor();
  await bob.fill("#log-in-email", "bob@example.org");
  await bob.fill("#log-in-password", "wrong horse");
  await bob.press("#log-in-password", "Enter");
  await bob.locator("#log-in .alert", { hasText: "password is wrong" }).waitFor();
  await bob.fill("#log-in-password", PASSWORD);
  await bob.press("#log-in-password", "Enter");
  await bob.locator("#inside").waitFor();

  await ada.click("#own");
  await ada.click("#settings summary");
  await ada.fill("#display-name", "長屋の花子");
  await ada.fill("#bio", "三軒目に\n住んでいます");
  await ada.click("#change button");
  await until("the new name", () => ada.locator('h1 [data-slot="name"]').textContent(), "長屋の花子");
  await ada.click("#delete-account");
  await ada.locator("#ask", { hasText: "元に戻せません" }).waitFor();
  await ada.click("#ask .danger");
  await ada.locator("#entry").waitFor();
  await go(bob, "/sns/u/ada");
  await bob.locator("#nobody", { hasText: "no such user" }).waitFor();
}

await play(async () => {
  // A name that is taken, one that nobody has, and what a session that has ended asks for.
  const enters = async (context) => visit(await context, "/sns", 401, 404, 409);
  const [ada, bob] = await Promise.all([enters(person(SMALL)), enters(person(DESKTOP, { lang: "en" }))]);
  await enter(ada, bob);
  await meet(ada, bob);
  await speak(ada, bob);
  await readNotes(ada, bob);
  await rename(bob);
  await scroll(ada, bob);
  await picture(ada, "sns-ada");
  await picture(bob, "sns-bob");
  await leaveForAWhile(ada, bob);
  await takeBack(ada, bob);
  const other = await renew(bob);
  await part(ada, bob, other);
});
