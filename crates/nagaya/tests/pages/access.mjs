// What the operator decides: keys with their scopes and last use, settings that change now or at the
// next start, and calls that are tried on the page of all interfaces.

import assert from "node:assert/strict";
import { everyLook, fits, isAccessible, namesItsButtons, picture } from "./appearance.mjs";
import { DESKTOP, SMALL, go, person, play, setUp, until, url, visit } from "./browser.mjs";
import { advance } from "./clock.mjs";

const PASSWORD = "a sentence to remember";
const MESH_KEY = process.env.NAGAYA_MESH_KEY;

const clipboard = (page) => page.evaluate(() => navigator.clipboard.readText());

async function mesh(query, key = MESH_KEY) {
  const headers = { "content-type": "application/json", "x-api-key": key };
  return fetch(`${url}/mesh/graphql`, { method: "POST", headers, body: JSON.stringify({ query }) });
}

/** The key of a class can be copied, and shows when it was used. */
async function sharesTheMeshKey(page) {
  await go(page, "/console/access");
  const shared = page.locator("[aria-labelledby=shared]");
  assert.equal(await shared.locator("#shared-key").textContent(), MESH_KEY);
  await shared.getByText("未使用").waitFor();
  await page.getByRole("button", { name: "コピー メッシュのキー" }).click();
  await page.getByText("コピーしました").waitFor();
  assert.equal(await clipboard(page), MESH_KEY);
  assert.equal((await mesh("mutation { createDomain }")).status, 200);
  await page.reload();
  await shared.locator(".hint time").waitFor();
}

/** A key is made with the scopes that are ticked, shown once, used, rotated and revoked. */
async function makesKeys(page) {
  page.refused = [400];
  await page.fill("#name", "robot");
  await page.getByRole("button", { name: "キーを作成" }).click();
  await page.locator(".alert", { hasText: "スコープを一つ以上" }).waitFor();
  await page.fill("#name", "robot");
  await page.getByRole("checkbox", { name: "mesh", exact: false }).first().check();
  await page.getByRole("checkbox", { name: "collect:read" }).check();
  await page.selectOption("#days", "30");
  await page.getByRole("button", { name: "キーを作成" }).click();
  const secret = await page.locator("#made").textContent();
  await page.getByRole("button", { name: "コピー シークレット" }).click();
  await until("the copied secret", () => clipboard(page), secret);
  await picture(page, "access-new-key", { fullPage: true });
  const key = page.locator("[aria-labelledby=keys] > ul > li", { hasText: "robot" });
  assert.deepEqual(await key.locator(".badge").allTextContents(), ["collect:read", "mesh"]);
  await key.getByText("未使用").waitFor();
  assert.equal((await fetch(`${url}/collect/sources`, { headers: { "x-api-key": secret } })).status, 403);
  assert.equal((await mesh("mutation { createDomain }", secret)).status, 200);
  await go(page, "/console/access");
  assert.equal(await page.locator("#made").count(), 0, "a secret is shown once");
  await key.getByText("最終使用").waitFor();
  // The second secret has the same scopes; then one of the two is revoked.
  await page.getByRole("button", { name: "シークレットを追加 robot" }).click();
  const second = await page.locator("#made").textContent();
  assert.equal(await page.getByRole("button", { name: "シークレットを追加 robot" }).count(), 0);
  page.expects = (question) => question.startsWith("このキーを無効に");
  await page.getByRole("button", { name: /無効にする robot\// }).first().click();
  await until("one secret", () => key.getByRole("button", { name: /無効にする/ }).count(), 1);
  assert.equal((await mesh("mutation { createDomain }", secret)).status, 401);
  assert.equal((await mesh("mutation { createDomain }", second)).status, 200);
}

/** A use is in the store after a minute, where another program finds it. */
async function remembersUses(page) {
  await advance(61);
  await until("a written use", async () => {
    await page.reload();
    return page.locator("[aria-labelledby=keys] li", { hasText: "robot" }).getByText("最終使用").count();
  }, 1);
}

const count = (page) => page.locator(".setting:visible").count();

/** Settings are found in the reader's language, by their names and by where they were set. */
async function findsSettings(page) {
  await go(page, "/console/settings");
  const all = await count(page);
  assert.ok(all > 100, `${all} settings`);
  for (const text of await page.locator(".setting .about").allTextContents()) assert.match(text, /[ぁ-ん]/, text);
  await page.fill("#q", "フォロワー");
  await until("settings about followers", () => count(page), 1);
  await page.locator("#count", { hasText: "1件" }).waitFor();
  await page.fill("#q", "no such thing");
  await page.getByText("一致する設定はありません").waitFor();
  await page.fill("#q", "");
  await until("all settings", () => count(page), all);
  await page.selectOption("#show", "now");
  await page.waitForURL(/show=now/);
  const now = await count(page);
  assert.ok(now >= 10 && now < all, `${now} settings change now`);
  await page.locator("[id='log.level']").waitFor();
  await go(page, "/console/settings?q=listen&lang=en");
  const listen = page.locator("[id='http.listen']");
  await listen.locator("h3 + .hint", { hasText: "needs a restart" }).waitFor();
  await listen.locator("dd", { hasText: "NAGAYA_HTTP_LISTEN" }).waitFor();
  await listen.locator("dd", { hasText: "127.0.0.1:8080" }).waitFor();
}

/** A setting that needs a restart has the lines to write; they follow a new value. */
async function writesLines(page) {
  const listen = page.locator("[id='http.listen']");
  await listen.locator("summary").click();
  await listen.getByLabel("New value").fill("0.0.0.0:80");
  const file = '[http]\nlisten = "0.0.0.0:80"';
  assert.equal(await listen.locator("[data-slot=file]").textContent(), file);
  assert.equal(await listen.locator("[data-slot=environment]").textContent(), "NAGAYA_HTTP_LISTEN=0.0.0.0:80");
  await listen.getByRole("button", { name: "Copy http.listen (In nagaya.toml)" }).click();
  await until("the copied lines", () => clipboard(page), file);
  // There is no way around: a call is refused.
  const refused = await page.evaluate(async () => {
    const body = new URLSearchParams({ value: "0.0.0.0:80" });
    return (await fetch("/console/settings/http.listen", { method: "POST", body })).status;
  });
  assert.equal(refused, 400);
}

/** What callers hear of a rate. */
async function heard() {
  const answer = await fetch(`${url}/sns/v1/users/me`);
  return /"sns-address";q=(\d+)/.exec(answer.headers.get("ratelimit-policy") ?? "")?.[1];
}

/** A rate changes at once, and is said to be of this run only. */
async function changesSettings(page) {
  await go(page, "/console/settings?lang=ja");
  const name = "sns.address_requests_per_second";
  const rate = page.locator(`[id='${name}']`);
  assert.equal(await heard(), "2000");
  await rate.locator("summary").click();
  await rate.locator("input[name=value]").fill("0");
  await page.getByRole("button", { name: `今すぐ変更 ${name}` }).click();
  await page.locator(".alert", { hasText: "a whole number from 1" }).waitFor();
  assert.equal(await heard(), "2000");
  await rate.locator("summary").click();
  await rate.locator("input[name=value]").fill("300");
  await page.getByRole("button", { name: `今すぐ変更 ${name}` }).click();
  await page.locator(".notice", { hasText: name }).waitFor();
  assert.equal(await heard(), "600");
  await rate.getByText("次の起動時").waitFor();
  await rate.locator("summary").click();
  assert.equal(await rate.locator("[data-slot=file]").textContent(), "[sns]\naddress_requests_per_second = 300");
  await picture(page, "settings-changed");
  const level = page.locator("[id='log.level']");
  await level.locator("summary").click();
  await level.locator("input[name=value]").fill("info,edge=debug");
  await page.getByRole("button", { name: "今すぐ変更 log.level" }).click();
  await page.locator(".notice", { hasText: "log.level" }).waitFor();
  await go(page, "/console/access");
  await page.locator("[aria-labelledby=audit] tr", { hasText: `POST /console/settings/${name}` }).first().waitFor();
}

/** Every interface is found, folded and opened. */
async function findsOperations(page) {
  await go(page, "/openapi?lang=ja");
  const shown = () => page.locator("details.operation:visible").count();
  const all = await shown();
  assert.ok(all > 90, `${all} operations`);
  await page.fill("#search", "export");
  await until("exports", shown, 3);
  await page.getByText("3件の操作").waitFor();
  await page.fill("#search", "");
  await until("all operations", shown, all);
  await page.goto(`${url}/openapi#live-post-live-rooms`);
  await page.locator("#live-post-live-rooms .trial").waitFor();
  const schema = await page.request.get(`${url}/mesh/schema.graphql`);
  assert.match(await schema.text(), /type Mutation/);
  assert.ok(await page.locator("#mesh details.operation").count() >= 18);
}

/** A call that reads is sent at once; one that writes asks first, and takes the example as it is. */
async function triesCalls(page) {
  const asked = [];
  page.expects = (question) => asked.push(question) > 0;
  const status = (form) => form.locator(".status").textContent();
  const ready = page.locator("#house-get-readyz");
  await ready.locator("> summary").click();
  await ready.getByRole("button", { name: "送信" }).click();
  await until("an answer", async () => /^200/.test(await status(ready)), true);
  assert.equal(await ready.locator(".answer").textContent(), "ready\n");
  assert.match(await ready.locator(".headers").textContent(), /content-type: text\/plain/);
  assert.equal(asked.length, 0);
  const open = page.locator("#live-post-live-rooms");
  await open.getByRole("button", { name: "送信" }).click();
  await until("a room", async () => /^201/.test(await status(open)), true);
  assert.equal(asked.length, 1);
  assert.match(await open.locator(".answer").textContent(), /"roomId"/);
  await picture(page, "openapi-tried");
  // The operator's browser may call what is the operator's, without a key.
  const sources = page.locator("#collect-get-collect-sources");
  await sources.locator("> summary").click();
  await sources.getByRole("button", { name: "送信" }).click();
  await until("sources", async () => /^200/.test(await status(sources)), true);
  // The mesh wants its key.
  const domain = page.locator("#mesh-mutation-createDomain");
  await domain.locator("> summary").click();
  page.refused = [401];
  await domain.getByRole("button", { name: "送信" }).click();
  await until("a refusal", async () => /^401/.test(await status(domain)), true);
  await page.locator("input[data-room=mesh]").fill(MESH_KEY);
  await domain.getByRole("button", { name: "送信" }).click();
  await until("a domain", async () => /^200/.test(await status(domain)), true);
  assert.match(await domain.locator(".answer").textContent(), /"createDomain": "local"/);
  assert.equal(asked.length, 3);
  const broken = page.locator("#mesh-query-listGroupsByDomain");
  await broken.locator("> summary").click();
  await broken.locator("textarea[name=variables]").fill("{");
  await broken.getByRole("button", { name: "送信" }).click();
  await broken.locator(".status", { hasText: "変数が JSON ではありません" }).waitFor();
  await broken.locator("textarea[name=variables]").fill('{ "domain": "local" }');
  await broken.getByRole("button", { name: "送信" }).click();
  await until("groups", async () => /^200/.test(await status(broken)), true);
  assert.match(await broken.locator(".answer").textContent(), /"listGroupsByDomain": \[\]/);
}

/** Opened forms keep nobody out either. */
async function isOpenToAll(operator) {
  for (const [viewport, theme, lang] of [[DESKTOP, "dark", "en"], [SMALL, "light", "ja"]]) {
    const context = await person(viewport, { theme, lang });
    await context.addCookies((await operator.cookies()).filter(({ name }) => name !== "lang"));
    const page = await visit(context, "/openapi#live-post-live-rooms");
    await page.locator("#live-post-live-rooms .trial").waitFor();
    await fits(page, `openapi-open-${viewport.width}`);
    await isAccessible(page, `openapi-open-${viewport.width}`);
    await picture(page, `openapi-open-${viewport.width}`);
    await go(page, "/console/settings#log.level");
    await page.locator("[id='log.level'] summary").click();
    await page.locator("[id='http.listen'] summary").click();
    await fits(page, `settings-open-${viewport.width}`);
    await isAccessible(page, `settings-open-${viewport.width}`);
    await namesItsButtons(page);
    await go(page, "/console/access");
    await namesItsButtons(page);
    await context.close();
  }
}

async function looks(operator) {
  const cookies = (await operator.cookies()).filter(({ name }) => name !== "lang");
  await everyLook([
    { name: "access", path: "/console/access", sign: "#name", enter: (context) => context.addCookies(cookies) },
    { name: "settings", path: "/console/settings", sign: ".setting" },
    { name: "openapi", path: "/openapi", sign: "#mesh" },
  ]);
}

await play(async () => {
  const operator = await person(DESKTOP, { permissions: ["clipboard-read", "clipboard-write"] });
  const page = await visit(operator, "/");
  await setUp(page, PASSWORD);
  await sharesTheMeshKey(page);
  await makesKeys(page);
  await remembersUses(page);
  await findsSettings(page);
  await writesLines(page);
  await changesSettings(page);
  await findsOperations(page);
  await triesCalls(page);
  await isOpenToAll(operator);
  await looks(operator);
});
