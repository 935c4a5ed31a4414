// The front of the house, which leads to every room, and the operator's overview, which moves by
// itself while a class plays.

import assert from "node:assert/strict";
import { everyLook } from "./appearance.mjs";
import { DESKTOP, SMALL, go, person, play, setUp, until, url, visit } from "./browser.mjs";
import { advance, whileTimePasses } from "./clock.mjs";

const PASSWORD = "a sentence to remember";
/** What a first load may transfer. */
const FIRST_LOAD_BYTES = 150 * 1024;

async function mesh(query, variables) {
  const headers = { "content-type": "application/json", "x-api-key": process.env.NAGAYA_MESH_KEY };
  const answer = await fetch(`${url}/mesh/graphql`, { method: "POST", headers, body: JSON.stringify({ query, variables }) });
  const { data, errors } = await answer.json();
  assert.equal(errors, undefined, JSON.stringify(errors));
  return data;
}

/** Every link of the front answers. */
async function leads(page) {
  const paths = await page.locator("main a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  for (const path of ["/live", "/score", "/collect", "/console"]) assert.ok(paths.includes(path), path);
  for (const path of new Set(paths)) {
    const { status } = await fetch(url + path, { headers: { accept: "text/html" } });
    assert.equal(status, 200, path);
  }
}

/** The pages before the console; the link still works afterwards. */
const gates = () =>
  everyLook([
    { name: "gate-setup", path: process.env.NAGAYA_LINK.slice(url.length), sign: "#password" },
    { name: "gate-sign-in", path: "/console/sign-in", sign: "#password" },
    { name: "gate-gone", path: "/console/setup?token=none", sign: "main", refused: [403, 404, 410] },
  ]);

async function signIn(operator) {
  const page = await visit(operator, "/");
  await leads(page);
  await setUp(page, PASSWORD);
  return page;
}

/** A class plays, and the tile tells of it. */
async function moves(page) {
  await page.locator("#state", { hasText: "ライブ" }).waitFor();
  const domain = (await mesh("mutation { createDomain }")).createDomain;
  const { createGroup: group } = await mesh(
    `mutation ($domain: String!) { createGroup(name: "1年2組", hostId: "host", domain: $domain) { id } }`, { domain });
  const report = `mutation ($g: ID!, $d: String!, $v: String!) {
    reportDataByNode(groupId: $g, domain: $d, nodeId: "host", data: [{ key: "光", value: $v }]) { groupId } }`;
  for (let value = 0; value < 5; value += 1) await mesh(report, { g: group.id, d: domain, v: String(value) });
  const tile = page.locator(".tile[data-room=mesh]");
  await tile.locator("p", { hasText: "5件のメッセージ" }).waitFor();
  const at = () => page.evaluate(() => Number(document.body.dataset.at));
  const seen = await at();
  await advance(3);
  await until("three more moments", async () => (await at()) >= seen + 3_000, true);
  const points = await tile.locator("polyline").getAttribute("points");
  assert.ok(points.split(" ").length >= 3, points);
  assert.doesNotMatch(await page.locator("#store dd").first().textContent(), /–/);
}

/** Who was away goes on where it stood. */
async function resumes(page) {
  await page.context().setOffline(true);
  await page.locator("#state", { hasText: "再接続" }).waitFor();
  await page.context().setOffline(false);
  await page.locator("#state", { hasText: "ライブ" }).waitFor();
  /** What is heard from here on, until there are so many. */
  const hears = (after, count) =>
    page.evaluate(([after, count]) => new Promise((resolve) => {
      const heard = [];
      const source = new EventSource(`/console/stream${after && `?after=${encodeURIComponent(after)}`}`);
      source.onmessage = ({ data, lastEventId }) => {
        for (const { at } of [JSON.parse(data)].flat()) heard.push({ at, id: lastEventId });
        if (heard.length < count) return;
        source.close();
        resolve(heard);
      };
    }), [after, count]);
  const heard = await whileTimePasses("three moments", hears("", 3));
  const [again] = await whileTimePasses("the second moment", hears(heard[0].id, 1));
  assert.equal(again.at, heard[1].at, "the address says where it stood");
}

/** A browser that was never here loads little. */
async function isLight(operator) {
  const context = await person(DESKTOP);
  await context.addCookies(await operator.cookies());
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await go(page, "/console");
  await page.locator("#state", { hasText: "ライブ" }).waitFor();
  console.log(`the first load of the console: ${bytes} bytes`);
  assert.ok(bytes > 10_000 && bytes <= FIRST_LOAD_BYTES, `${bytes} bytes`);
  await context.close();
}

/** Tables: an item is written, found by its key, changed, carried out and in, and deleted. */
async function tables(page) {
  await go(page, "/console/tables");
  await page.locator("tbody tr", { hasText: "edge_credentials" }).locator(".badge").waitFor();
  const secret = await page.request.get(`${url}/console/tables/edge_credentials`);
  assert.equal(secret.status(), 403);
  await page.getByRole("link", { name: "AiResponseMetrics" }).click();
  await page.locator(".notice", { hasText: "スキャン" }).waitFor();
  const item = { type: { S: "shown" }, timestamp: { S: "2026-01-01T00:00:00Z" }, count: { N: "7.10000000000000000000000000000000001" }, note: { S: "<b>長屋</b>" } };
  const keys = await page.locator("#index option").first().textContent();
  const [partition, sort] = [...keys.matchAll(/(\w+) \(S\)/g)].map(([, name]) => name);
  const written = { [partition]: { S: "shown" }, ...(sort ? { [sort]: { S: "2026-01-01T00:00:00Z" } } : {}), count: item.count, note: item.note };
  await page.locator("summary", { hasText: "新しい項目" }).click();
  page.refused = [400];
  await page.locator("form[action$='/put'] textarea").last().fill("{ no JSON");
  await page.getByRole("button", { name: "保存" }).last().click();
  await page.locator(".alert", { hasText: "not JSON" }).waitFor();
  await page.getByRole("link", { name: "English" }).click();
  await page.locator("h2, summary", { hasText: "New item" }).waitFor();
  await go(page, "/console/tables/AiResponseMetrics?lang=ja&op=eq&order=down");
  await page.getByRole("link", { name: "English" }).click();
  await page.locator("summary", { hasText: "New item" }).waitFor();
  assert.equal(new URL(page.url()).searchParams.get("order"), "down", "what was asked for is still asked for");
  await page.getByRole("link", { name: "日本語" }).click();
  await page.locator("summary", { hasText: "新しい項目" }).click();
  await page.locator("form[action$='/put'] textarea").last().fill(JSON.stringify(written));
  await page.getByRole("button", { name: "保存" }).last().click();
  await page.locator(".notice", { hasText: "保存しました" }).waitFor();
  await page.fill("#partition", "shown");
  await page.getByRole("button", { name: "検索" }).click();
  const card = page.locator(".items li", { hasText: "shown" });
  await card.locator("summary").click();
  await card.locator("td", { hasText: "<b>長屋</b>" }).waitFor();
  assert.equal(await card.locator("b").count(), 0);
  assert.equal(await page.locator(".notice", { hasText: "スキャン" }).count(), 0, "a query is no scan");
  const path = new URL(page.url()).pathname;
  const lines = await (await page.request.get(`${url}${path}/export?form=ndjson`)).text();
  assert.ok(lines.includes("7.10000000000000000000000000000000001"), lines);
  const plain = await (await page.request.get(`${url}${path}/export?form=plain`)).text();
  assert.match(plain, /"count":7\.1000/);
  const { Items } = await (await page.request.get(`${url}${path}/export?form=dynamodb`)).json();
  assert.deepEqual(Items, [written]);
  page.expects = () => true;
  await card.getByRole("button", { name: "削除" }).click();
  await page.locator(".empty").waitFor();
  await page.locator("summary", { hasText: "書き出し" }).click();
  await page.locator("form[action$='/import'] textarea").fill(lines);
  await page.getByRole("button", { name: "取り込み" }).click();
  await page.locator(".items li", { hasText: "shown" }).waitFor();
  await page.locator("summary", { hasText: "書き出し" }).click();
  await page.locator("form[action$='/import'] textarea").fill(plain.replace(/"shown"/, '"plainly"'));
  await page.locator("form[action$='/import'] select").selectOption("plain");
  await page.getByRole("button", { name: "取り込み" }).click();
  await page.locator(".items li", { hasText: "plainly" }).waitFor();
}

/** An index is chosen and read page by page; an item counts down to its end, and is changed. */
async function shelf(page) {
  await go(page, "/console/tables/shelf");
  await page.locator("label[for=partition]", { hasText: "id =" }).waitFor();
  await page.locator("#sort-name", { hasText: "ソートキーなし" }).waitFor();
  await page.selectOption("#index", "by-kind");
  await page.locator("label[for=partition]", { hasText: "kind =" }).waitFor();
  await page.locator("#sort-name", { hasText: /^n$/ }).waitFor();
  await page.fill("#partition", "book");
  await page.selectOption("#order", "down");
  await page.getByRole("button", { name: "検索" }).click();
  const keys = () => page.locator(".items summary strong").allTextContents();
  const down = (from, to) => Array.from({ length: from - to }, (_, at) => String(from - 1 - at).padStart(2, "0"));
  assert.deepEqual(await keys(), down(30, 5), "twenty-five of them, the greatest first");
  await page.getByRole("button", { name: "次のページ" }).click();
  await until("the rest", keys, down(5, 0));
  const card = page.locator(".items li").first();
  const badge = () => card.locator(".badge").first().textContent();
  assert.match(await badge(), /^期限 \d+\s?(分|時間)$/);
  await card.locator("summary").click();
  const text = card.locator("form[action$='/put'] textarea");
  const loaded = JSON.parse(await text.inputValue());
  await text.fill(JSON.stringify({ ...loaded, note: { S: "changed" } }));
  await card.getByRole("button", { name: "保存" }).click();
  await page.locator(".notice", { hasText: "保存しました" }).waitFor();
  await page.fill("#partition", "04");
  await page.getByRole("button", { name: "検索" }).click();
  await page.locator("td", { hasText: "changed" }).waitFor({ state: "attached" });
  // Another key is another item, and is not taken by mistake.
  await page.locator(".items summary").click();
  await page.locator(".items textarea").fill(JSON.stringify({ ...loaded, id: { S: "03" } }));
  await page.locator(".items").getByRole("button", { name: "保存" }).click();
  await page.locator(".alert", { hasText: "keeps its key" }).waitFor();
  assert.match(await page.locator("details[open] textarea").inputValue(), /"03"/, "what was written is still there");
  // What is asked wrongly costs nothing, and finds nothing.
  await go(page, "/console/tables/shelf?index=by-kind&partition=book&op=eq&sort=x");
  await page.locator(".alert", { hasText: "is a number" }).waitFor();
  assert.equal(await page.getByText("読み取りユニット").count() + (await page.locator(".items, .empty").count()), 0);
}

/** A key is made and revoked, a backup made and verified, settings say where they come from. */
async function keeps(page) {
  await go(page, "/console/access");
  await page.fill("#name", "robot");
  await page.getByRole("checkbox", { name: "collect:operate" }).check();
  await page.selectOption("#days", "90");
  await page.getByRole("button", { name: "キーを作成" }).click();
  const secret = await page.locator("#made").textContent();
  await page.locator("[aria-labelledby=keys] li", { hasText: /期限 (?!なし)/ }).waitFor();
  const asked = await fetch(`${url}/collect/sources`, { headers: { "x-api-key": secret } });
  assert.equal(asked.status, 200);
  const stale = await page.context().newPage();
  await stale.goto(`${url}/console/access`);
  await page.getByRole("button", { name: "無効にする robot" }).click();
  await page.locator(".empty", { hasText: "まだキーはありません" }).waitFor();
  // The button of a page that is behind finds done what it is there for.
  stale.on("dialog", (dialog) => dialog.accept());
  await stale.getByRole("button", { name: "無効にする robot" }).click();
  await stale.locator(".empty", { hasText: "まだキーはありません" }).waitFor();
  await stale.close();
  await go(page, "/console/backups");
  await page.getByRole("button", { name: "バックアップを作成" }).click();
  await page.locator(".notice", { hasText: "作成しました" }).waitFor();
  await page.getByRole("button", { name: "検証" }).first().click();
  await page.locator(".notice", { hasText: "完全です" }).waitFor();
  await page.locator(".hint", { hasText: "保持期間は90日です" }).waitFor();
  await page.getByRole("button", { name: "バックアップを作成" }).click();
  await page.locator(".notice", { hasText: "作成しました" }).waitFor();
  const before = await page.locator(".letters li").count();
  await page.getByRole("button", { name: "削除" }).last().click();
  await page.locator(".notice", { hasText: "削除しました" }).waitFor();
  assert.equal(await page.locator(".letters li").count(), before - 1);
  await page.getByRole("button", { name: "この時点を試す" }).click();
  await page.locator(".notice", { hasText: "復元できます" }).waitFor();
  await page.fill("#at", "2999-01-01T00:00:00Z");
  await page.getByRole("button", { name: "この時点を試す" }).click();
  await page.locator(".alert").waitFor();
  await go(page, "/console/access");
  await page.locator("[aria-labelledby=audit] tr", { hasText: "POST /console/access/revoke" }).first().waitFor();
  await page.locator("[aria-labelledby=audit]", { hasText: "連鎖は完全です" }).waitFor();
  await go(page, "/console/settings");
  await page.locator("[id='http.listen'] dd", { hasText: "NAGAYA_HTTP_LISTEN" }).waitFor();
  await go(page, "/console/flow");
  await page.locator("tr", { hasText: "bus.outbox" }).waitFor();
  await page.locator("tr", { hasText: "mesh.group" }).waitFor();
}

/** One browser's session is ended from another, and the audit says which. */
async function endsSessions(page) {
  const lost = await person(SMALL);
  const elsewhere = await visit(lost, "/console/sign-in", 401);
  await elsewhere.fill("#password", PASSWORD);
  await elsewhere.click("button");
  await elsewhere.waitForURL("**/console");
  await elsewhere.locator("#state", { hasText: "ライブ" }).waitFor();
  await go(page, "/console/access");
  const sessions = page.locator("[aria-labelledby=sessions] li");
  const [here, other] = [sessions.filter({ hasText: "このブラウザー" }), sessions.filter({ has: page.locator("form") })];
  assert.deepEqual([await here.count(), await other.count()], [1, 1]);
  await other.filter({ hasText: "Chrome, Linux" }).filter({ hasText: "127.0.0.1" }).waitFor();
  const id = await other.locator("code").textContent();
  page.expects = (question) => question.startsWith("このセッションを終了しますか");
  await page.getByRole("button", { name: `終了 ${id}` }).click();
  await until("one session", () => sessions.count(), 1);
  await here.waitFor();
  await page.locator("[aria-labelledby=audit] tr", { hasText: `POST /console/access/sessions/${id}/end` }).waitFor();
  // Its overview hears nothing more, and says why.
  await whileTimePasses("the end of a session", elsewhere.waitForURL("**/console/sign-in"));
  await elsewhere.goto(`${url}/console/access`);
  await elsewhere.waitForURL("**/console/sign-in?next=/console/access");
  await lost.close();
}

/** A post is told as a fact, which is followed to what became of it. */
async function followsFacts(page) {
  const call = async (path, body, headers = {}) => {
    const answer = await fetch(`${url}/sns/v1${path}`, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
    assert.ok(answer.ok, `${path}: ${answer.status}`);
    return { ...(await answer.json()), trace: answer.headers.get("traceparent").split("-")[1] };
  };
  const { token } = await call("/auth/register", { email: "ada@example.org", username: "ada", password: "correct horse" });
  const { trace } = await call("/posts", { content: "長屋より" }, { authorization: `Bearer ${token}` });
  const done = page.locator("[aria-labelledby=facts] li", { has: page.locator("th", { hasText: "完了:" }) });
  await until("a fact that was done", async () => {
    await go(page, "/console/flow");
    return (await done.count()) > 0;
  }, true);
  await done.first().locator("summary").click();
  await done.first().locator("th", { hasText: "発行" }).waitFor();
  // The post's own request stands before all, under the trace that its answer named.
  const post = done.filter({ has: page.locator("tr:first-child th", { hasText: "要求: POST /sns/v1/posts" }) });
  await until("the post's request", async () => {
    await go(page, "/console/flow");
    return (await post.count()) > 0;
  }, true);
  assert.equal(await post.locator("tr:first-child code").first().textContent(), trace);
}

/** Bars have room, however long the name of a step. */
async function hasBars(page) {
  const { width } = await page.locator(".fall td:last-child").first().boundingBox();
  assert.ok(width > 200, `a bar has ${width} px`);
}

async function looks(operator) {
  const cookies = (await operator.cookies()).filter(({ name }) => name !== "lang");
  const opens = (selector) => (page) => page.locator(selector).first().click();
  const facts = "[aria-labelledby=facts] summary";
  const pages = [
    { name: "front", path: "/", sign: ".rooms", enter: (context) => context.addCookies(cookies) },
    { name: "overview", path: "/console", sign: ".tile polyline[points]", state: "attached" },
    { name: "tables", path: "/console/tables", sign: "tbody tr" },
    { name: "table", path: "/console/tables/shelf", sign: ".builder", act: opens(".items summary") },
    { name: "flow", path: "/console/flow", sign: ".listing", act: opens(facts), check: hasBars },
    { name: "access", path: "/console/access", sign: "#name" },
    { name: "backups", path: "/console/backups", sign: ".letters li" },
    { name: "settings", path: "/console/settings", sign: ".setting" },
    { name: "sign-out", path: "/console/sign-out", sign: "main" },
    { name: "nowhere", path: "/live/nowhere", sign: ".way", refused: [404] },
    // What it describes is English, its frame is not.
    { name: "openapi", path: "/openapi", sign: "main" },
    { name: "no-table", path: "/console/tables/nothing", sign: "[role=alert]", refused: [404] },
  ];
  await everyLook(pages.map((page) => ({ ...page, name: `console-${page.name}` })));
}

await play(async () => {
  await gates();
  const operator = await person(DESKTOP);
  const page = await signIn(operator);
  await moves(page);
  await resumes(page);
  await isLight(operator);
  await tables(page);
  await shelf(page);
  await keeps(page);
  await endsSessions(page);
  await followsFacts(page);
  await looks(operator);
});
