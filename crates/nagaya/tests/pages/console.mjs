// The front of the house, which leads to every room, and the operator's overview, which moves by
// itself while a class plays.

import assert from "node:assert/strict";
import { everyLook, isAccessible } from "./appearance.mjs";
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

const openSteps = (page) => page.locator("#steps [data-step]:not([hidden])").evaluateAll((steps) => steps.map((step) => step.dataset.step));

/** First steps disappear when they are done, or when nobody wants to see them. */
async function steps(page) {
  await whileTimePasses("the step of the class", page.locator("#steps [data-step=mesh]").waitFor({ state: "hidden" }));
  const open = await openSteps(page);
  for (const step of ["live", "collect", "score", "sns", "backup", "tls"]) assert.ok(open.includes(step), step);
  const made = await fetch(`${url}/live/rooms`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer 5f1d7a84c9b04b1f8f0f7d2b3a6c9e10" },
    body: JSON.stringify({ name: "Nagaya talk", hostId: "5f1d7a84c9b04b1f8f0f7d2b3a6c9e10" }),
  });
  assert.ok(made.ok, await made.text());
  await whileTimePasses("the step of the live room", page.locator("#steps [data-step=live]").waitFor({ state: "hidden" }));
  await page.getByRole("button", { name: "表示しない: TLS で公開する" }).click();
  await until("the step is dismissed", async () => (await openSteps(page)).includes("tls"), false);
  await page.locator("#steps-left", { hasText: "残り4件" }).waitFor();
  const links = await page.locator("#steps li:not([hidden]) a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  assert.deepEqual(links, ["/collect/operate", "/score/play", "/sns", "/console/backups"]);
}

/** Lines have a scale and an hour, and say what is under the pointer. */
async function lines(page) {
  await page.locator("#state", { hasText: "ライブ" }).waitFor();
  await advance(61);
  const chart = page.locator(".tile[data-room=mesh] .chart");
  await page.locator("#spans").getByText("1時間").click();
  await chart.locator(".from", { hasText: "1時間前" }).waitFor();
  await until("a minute of the hour", async () => (await chart.locator("polyline").getAttribute("points")).length > 0, true);
  const { x, y, width, height } = await chart.boundingBox();
  await page.mouse.move(x + width - 1, y + height / 2);
  await chart.locator(".reading", { hasText: "/秒" }).waitFor();
  await page.mouse.move(0, 0);
  await chart.locator(".reading").waitFor({ state: "hidden" });
  await page.locator("#spans input").last().focus();
  await page.keyboard.press("ArrowLeft");
  await chart.locator(".from", { hasText: "1分前" }).waitFor();
}

/** The side bar leads everywhere by the keyboard, and says where one is. */
async function sideBar(page) {
  await go(page, "/console");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  const names = await page.locator("#menu a").allTextContents();
  assert.equal(names.length, 12, names.join());
  await page.locator("#menu a").first().focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/console/tables");
  assert.equal(await page.locator("#menu [aria-current=page]").textContent(), "テーブル");
  const paths = await page.locator("#menu a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  for (const path of paths) {
    const answer = await page.request.get(url + path, { headers: { accept: "text/html" } });
    assert.equal(answer.status(), 200, path);
  }
  // Every desk has it, and names itself.
  for (const path of ["/mesh/class", "/collect/operate", "/score/operate"]) {
    await go(page, path);
    assert.equal(await page.locator("#menu [aria-current=page]").getAttribute("href"), path);
  }
}

/** On a phone a button opens the side bar, also without script. */
async function menu(operator) {
  for (const javaScriptEnabled of [true, false]) {
    const context = await person(SMALL, { javaScriptEnabled });
    await context.addCookies(await operator.cookies());
    const page = await context.newPage();
    await go(page, "/console/flow");
    const link = page.locator("#menu a", { hasText: "バックアップ" });
    await link.waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "メニュー" }).focus();
    await page.keyboard.press("Enter");
    await link.waitFor();
    await page.keyboard.press("Escape");
    await link.waitFor({ state: "hidden" });
    await page.keyboard.press("Enter");
    await link.click();
    await page.waitForURL("**/console/backups");
    await context.close();
  }
}

/** What has a page is found by the keyboard alone. */
async function searches(page) {
  await go(page, "/mesh/class");
  const [dialog, field] = [page.locator("#desk-search"), page.locator("#search-field")];
  const options = page.locator("#search-found [role=option]");
  const chosen = () => page.locator("#search-found [aria-selected=true]").textContent();
  await page.keyboard.press("/");
  await dialog.waitFor();
  await until("all pages", async () => (await options.count()) >= 12, true);
  await isAccessible(page, "the search");
  await page.keyboard.type("airesp");
  await options.filter({ hasText: "AiResponseMetrics" }).waitFor();
  await until("one result", () => options.count(), 1);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/console/tables/AiResponseMetrics");
  await page.keyboard.press("Control+k");
  await dialog.waitFor();
  await field.fill("tls");
  await until("settings", async () => (await options.count()) > 1, true);
  const first = await chosen();
  await page.keyboard.press("ArrowDown");
  assert.notEqual(await chosen(), first);
  await page.keyboard.press("ArrowUp");
  assert.equal(await chosen(), first);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  // A letter that somebody writes into a field stays there.
  await page.locator("#partition").fill("");
  await page.locator("#partition").press("/");
  assert.equal(await page.locator("#partition").inputValue(), "/");
  assert.equal(await dialog.isVisible(), false);
  for (const [wanted, name] of [["talk", "Nagaya talk"], ["ada", "@ada"], ["collect.private", "collect.private_networks"]]) {
    await page.locator("#open-search").click();
    await field.fill(wanted);
    await options.filter({ hasText: name }).waitFor();
    await page.keyboard.press("Escape");
  }
  await page.locator("#open-search").click();
  await field.fill("no such thing");
  await page.locator("#search-state", { hasText: "見つかりませんでした" }).waitFor();
  await page.locator("#search-close").click();
  await go(page, "/console/search?q=airesp");
  await page.locator(".found a", { hasText: "AiResponseMetrics" }).waitFor();
  const stranger = await fetch(`${url}/console/search/found?q=airesp`);
  assert.equal(stranger.status, 401);
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
  page.expects = () => true;
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
  page.refused = [400];
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
    { name: "search", path: "/console/search?q=s", sign: ".found li" },
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
  await steps(page);
  await lines(page);
  await resumes(page);
  await sideBar(page);
  await menu(operator);
  await isLight(operator);
  await keeps(page);
  await endsSessions(page);
  await followsFacts(page);
  await searches(page);
  await looks(operator);
});
