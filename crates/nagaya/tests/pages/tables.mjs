// Tables: the list of items, the item beside it, and the past of both.

import assert from "node:assert/strict";
import { everyLook, fits, namesItsButtons } from "./appearance.mjs";
import { DESKTOP, SMALL, go, person, play, setUp, until, url, visit } from "./browser.mjs";

const PASSWORD = "a sentence to remember";
const THEN = process.env.NAGAYA_THEN;
const STORY = encodeURIComponent(JSON.stringify({ id: { S: "story" } }));

const save = (page) => page.locator("#item").getByRole("button", { name: "変更を保存" });
const keys = (page) => page.locator(".grid tbody th").allTextContents();

/** An item is written, found by its key, carried out and in, and deleted. */
async function writes(page) {
  await go(page, "/console/tables");
  await page.locator("tbody tr", { hasText: "edge_credentials" }).locator(".badge").waitFor();
  const secret = await page.request.get(`${url}/console/tables/edge_credentials`);
  assert.equal(secret.status(), 403);
  await page.getByRole("link", { name: "AiResponseMetrics" }).click();
  await page.locator(".notice", { hasText: "スキャン" }).waitFor();
  const listed = await page.locator("#index option").first().textContent();
  const [partition, sort] = [...listed.matchAll(/(\w+) \(S\)/g)].map(([, name]) => name);
  const written = {
    [partition]: { S: "shown" }, ...(sort ? { [sort]: { S: "2026-01-01T00:00:00Z" } } : {}),
    count: { N: "7.10000000000000000000000000000000001" }, note: { S: "<b>長屋</b>" },
  };
  const fresh = page.locator("details", { has: page.locator("summary", { hasText: "新しい項目" }) });
  await fresh.locator("summary").click();
  page.refused = [400];
  await fresh.locator("textarea").fill("{ no JSON");
  await fresh.getByRole("button", { name: "保存" }).click();
  await page.locator(".alert", { hasText: "not JSON" }).waitFor();
  assert.equal(await fresh.locator("textarea").inputValue(), "{ no JSON", "what was written is still there");
  await page.getByRole("link", { name: "English" }).click();
  await page.locator("summary", { hasText: "New item" }).waitFor();
  await go(page, "/console/tables/AiResponseMetrics?lang=ja&op=eq&order=down");
  await page.getByRole("link", { name: "English" }).click();
  await page.locator("summary", { hasText: "New item" }).waitFor();
  assert.equal(new URL(page.url()).searchParams.get("order"), "down", "what was asked for is still asked for");
  await page.getByRole("link", { name: "日本語" }).click();
  await fresh.locator("summary").click();
  await fresh.locator("textarea").fill(JSON.stringify(written));
  await fresh.getByRole("button", { name: "保存" }).click();
  await page.locator(".notice", { hasText: "保存しました" }).waitFor();
  const item = page.locator("#item");
  await item.locator("td", { hasText: "<b>長屋</b>" }).waitFor();
  assert.equal(await page.locator("#item b, .grid b").count(), 0);
  const path = new URL(page.url()).pathname;
  const lines = await (await page.request.get(`${url}${path}/export?form=ndjson`)).text();
  assert.ok(lines.includes("7.10000000000000000000000000000000001"), lines);
  const plain = await (await page.request.get(`${url}${path}/export?form=plain`)).text();
  assert.match(plain, /"count":7\.1000/);
  const { Items } = await (await page.request.get(`${url}${path}/export?form=dynamodb`)).json();
  assert.deepEqual(Items, [written]);
  await item.locator("summary", { hasText: "編集" }).click();
  page.expects = () => true;
  await item.getByRole("button", { name: "削除" }).click();
  await page.locator(".notice", { hasText: "削除しました" }).waitFor();
  await page.locator(".empty").waitFor();
  const carry = page.locator("details", { has: page.locator("summary", { hasText: "書き出し" }) });
  for (const [text, form, key] of [[lines, "", "shown"], [plain.replace(/"shown"/, '"plainly"'), "plain", "plainly"]]) {
    await carry.locator("summary").click();
    await carry.locator("textarea").fill(text);
    await carry.locator("select").selectOption(form);
    await carry.getByRole("button", { name: "取り込み" }).click();
    await page.locator(".grid th", { hasText: key }).waitFor();
  }
}

/** An index is chosen, a filter set, and all of it stands in the address. */
async function asks(page) {
  await go(page, "/console/tables/shelf");
  await page.locator("label[for=partition]", { hasText: "id =" }).waitFor();
  await page.locator("#sort-name", { hasText: "ソートキーなし" }).waitFor();
  const heads = await page.locator(".grid thead th").allTextContents();
  assert.deepEqual(heads.map((head) => head.trim()), ["id S", "ends N", "kind S", "n N", "wide S"], "keys first");
  await page.selectOption("#index", "by-kind");
  await page.locator("label[for=partition]", { hasText: "kind =" }).waitFor();
  await page.locator("#sort-name", { hasText: /^n$/ }).waitFor();
  await page.fill("#partition", "book");
  await page.selectOption("#order", "down");
  await page.getByRole("button", { name: "検索" }).click();
  const down = (from, to) => Array.from({ length: from - to }, (_, at) => String(from - 1 - at).padStart(2, "0"));
  await until("twenty-five of them, the greatest first", () => keys(page), down(30, 5));
  assert.equal(await page.locator(".notice", { hasText: "スキャン" }).count(), 0, "a query is no scan");
  await page.getByRole("link", { name: "次のページ" }).click();
  await until("the rest", () => keys(page), down(5, 0));
  await go(page, `/console/tables/shelf?filter=${encodeURIComponent('n >= 28 AND begins_with(kind, "b")')}`);
  assert.deepEqual((await keys(page)).sort(), ["28", "29"]);
  assert.equal(await page.locator("#filter").inputValue(), 'n >= 28 AND begins_with(kind, "b")');
  page.refused = [400];
  await go(page, `/console/tables/shelf?filter=${encodeURIComponent("n >=")}`);
  await page.locator(".alert").waitFor();
  // What is asked wrongly costs nothing, and finds nothing.
  await go(page, "/console/tables/shelf?index=by-kind&partition=book&op=eq&sort=x");
  await page.locator(".alert", { hasText: "is a number" }).waitFor();
  assert.equal(await page.locator(".grid, .empty").count(), 0);
}

/** An item is opened by keys alone, shown whole, edited, and closed. */
async function edits(page) {
  await go(page, "/console/tables/shelf?index=by-kind&partition=book");
  const rows = page.locator(".grid a.open");
  await rows.first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("End");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  const wide = page.locator(".grid tbody tr").nth(1).locator("td").last();
  assert.match(await wide.textContent(), /…$/, "a wide value is cut");
  await page.keyboard.press("Enter");
  const item = page.locator("#item");
  await item.locator("h2", { hasText: "01" }).waitFor();
  const whole = await item.locator("tr", { hasText: "wide" }).locator(".value").textContent();
  assert.equal(whole, "とても長い値".repeat(40), "on demand all of it");
  assert.match(await item.locator(".badge").first().textContent(), /^期限 \d+\s?(分|時間|日)/);
  await namesItsButtons(page);
  await item.locator("summary", { hasText: "編集" }).click();
  const text = item.locator("textarea");
  const loaded = JSON.parse(await text.inputValue());
  await text.fill(JSON.stringify({ ...loaded, note: { S: "changed" } }));
  await save(page).click();
  await page.locator(".notice", { hasText: "保存しました" }).waitFor();
  await item.locator("tr", { hasText: "changed" }).waitFor();
  assert.equal(new URL(page.url()).searchParams.get("partition"), "book", "the query is still there");
  const other = await page.context().newPage();
  await other.goto(page.url());
  // Another key is another item, and is not taken by mistake.
  page.refused = [400];
  await item.locator("summary", { hasText: "編集" }).click();
  await text.fill(JSON.stringify({ ...loaded, id: { S: "03" } }));
  await save(page).click();
  await item.locator(".alert", { hasText: "keeps its key" }).waitFor();
  assert.match(await text.inputValue(), /"03"/, "what was written is still there");
  // Nor is what somebody else wrote meanwhile.
  await other.locator("#item summary", { hasText: "編集" }).click();
  await other.locator("#item textarea").fill(JSON.stringify({ ...loaded, note: { S: "theirs" } }));
  await save(other).click();
  await other.locator(".notice", { hasText: "保存しました" }).waitFor();
  await other.close();
  await text.fill(JSON.stringify({ ...loaded, note: { S: "mine" } }));
  await save(page).click();
  await item.locator(".alert", { hasText: "has changed since" }).waitFor();
  await item.locator("summary", { hasText: "コピー" }).click();
  await item.locator("#copy-command", { hasText: "nagaya table get shelf id=01" }).waitFor();
  await page.locator("#item h2").click();
  await page.keyboard.press("Escape");
  await item.waitFor({ state: "detached" });
}

/** The table as it was, the versions of an item, what they changed, and the way back. */
async function returns(page) {
  await go(page, "/console/tables/shelf");
  await page.locator("#at-hint", { hasText: "さかのぼれる範囲" }).waitFor();
  await page.fill("#partition", "story");
  await page.getByRole("button", { name: "検索" }).click();
  await page.locator(".empty").waitFor();
  await page.fill("#at", THEN);
  await page.getByRole("button", { name: "検索" }).click();
  await page.locator(".then", { hasText: "表示中の時点" }).waitFor();
  await page.locator(".grid a.open", { hasText: "story" }).click();
  const item = page.locator("#item");
  await item.locator("th", { hasText: "third" }).waitFor();
  assert.equal(await save(page).count(), 0, "the past is not edited");
  await item.getByRole("link", { name: "履歴を表示" }).click();
  const versions = item.locator(".versions a");
  const kinds = async () => (await versions.locator(".badge").allTextContents()).map((text) => text.trim());
  await until("four versions", kinds, ["削除", "変更", "変更", "作成"]);
  // Each choice is a page of its own, so its address does not say which one is there.
  const chosen = (index) => versions.nth(index).and(page.locator("[aria-current=true]")).waitFor();
  await chosen(1);
  // The slider goes from the oldest to the newest; a step back is the version before.
  await item.locator("#versions").focus();
  await page.keyboard.press("ArrowLeft");
  await chosen(2);
  const [change, since] = [item.locator(".difference").first(), item.locator(".difference").last()];
  await change.locator("tr.added", { hasText: "second" }).waitFor();
  await change.locator("tr.removed", { hasText: "first" }).waitFor();
  await change.locator("tr.changed", { hasText: "n" }).waitFor();
  assert.equal(await since.locator("tr.removed").count(), 4, "now all of it is gone");
  page.expects = (question) => question.startsWith("項目をこの版に戻しますか");
  const stale = await page.context().newPage();
  stale.on("dialog", (dialog) => dialog.accept());
  await stale.goto(page.url());
  await item.getByRole("button", { name: "この項目を復元" }).click();
  await page.locator(".notice", { hasText: "復元しました" }).waitFor();
  await item.locator("th", { hasText: "second" }).waitFor();
  assert.equal(new URL(page.url()).searchParams.get("at"), null, "what is restored is of now");
  // A page that has not seen it restores nothing.
  await stale.getByRole("button", { name: "この項目を復元" }).click();
  await stale.locator(".alert", { hasText: "has changed since" }).waitFor();
  await stale.close();
  await go(page, "/console/access");
  await page.locator("[aria-labelledby=audit] tr", { hasText: "POST /console/tables/shelf/restore" }).first().waitFor();
  page.refused = [400];
  await go(page, "/console/tables/shelf?at=2001-01-01T00:00:00Z");
  await page.locator(".alert", { hasText: "there was no table" }).waitFor();
  await go(page, "/console/tables/shelf?at=yesterday");
  await page.locator(".alert", { hasText: "is not an instant" }).waitFor();
}

/** Without a script it is lists, links and forms. */
async function worksWithoutScript(operator) {
  const context = await person(SMALL, { javaScriptEnabled: false });
  await context.addCookies(await operator.cookies());
  const page = await context.newPage();
  await page.goto(`${url}/console/tables/shelf`);
  await page.fill("#partition", "story");
  await page.fill("#at", THEN);
  await page.getByRole("button", { name: "検索" }).click();
  await page.locator(".grid a.open").click();
  await page.getByRole("link", { name: "履歴を表示" }).click();
  await page.locator(".versions a").last().click();
  await page.locator("tr.added", { hasText: "first" }).waitFor();
  await page.getByRole("button", { name: "この項目を復元" }).click();
  await page.locator(".notice", { hasText: "復元しました" }).waitFor();
  await context.close();
}

async function looks(operator) {
  const cookies = (await operator.cookies()).filter(({ name }) => name !== "lang");
  const enter = (context) => context.addCookies(cookies);
  const open = `/console/tables/shelf?partition=story&at=${encodeURIComponent(THEN)}&open=${STORY}`;
  const pages = [
    { name: "list", path: "/console/tables", sign: "tbody tr", enter },
    { name: "grid", path: "/console/tables/shelf", sign: ".grid" },
    { name: "item", path: `/console/tables/shelf?open=${encodeURIComponent('{"id":{"S":"07"}}')}`, sign: "#item" },
    { name: "past", path: `${open}&version=last`, sign: ".versions", check: namesItsButtons },
    { name: "none", path: "/console/tables/nothing", sign: "[role=alert]", refused: [404] },
  ];
  await everyLook(pages.map((page) => ({ ...page, name: `tables-${page.name}` })));
}

await play(async () => {
  const operator = await person(DESKTOP);
  const page = await visit(operator, "/");
  await setUp(page, PASSWORD);
  await writes(page);
  await asks(page);
  await edits(page);
  await returns(page);
  await worksWithoutScript(operator);
  await page.setViewportSize(SMALL);
  await go(page, "/console/tables/shelf");
  await fits(page, "a table on a phone");
  await looks(operator);
});
