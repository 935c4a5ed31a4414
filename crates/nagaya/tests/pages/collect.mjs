// A night with the collector: a source is added, answers, fails, is asked again, and everything of
// it is seen. The upstream is this script's own, and does what it is told.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { everyLook, isAccessible, namesItsButtons, picture } from "./appearance.mjs";
import { DESKTOP, SMALL, bounded, go, person, play, setUp, until, visit } from "./browser.mjs";
import { advance, now } from "./clock.mjs";

const PASSWORD = "a sentence to remember";

/** What the upstream does: the status and the count for a window that begins at this second. */
let behave = (from) => ({ status: 200, count: Math.floor(from / 5) % 11 });
/** How often it was asked. */
let asked = 0;

const upstream = createServer((request, response) => {
  asked += 1;
  const query = new URL(request.url, "http://upstream").searchParams;
  const { status, count } = behave(Date.parse(query.get("from")) / 1000);
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ from: query.get("from"), to: query.get("to"), count, note: "<b>長屋</b>" }));
});
await new Promise((resolve) => upstream.listen(0, "127.0.0.1", resolve));
const base = `http://127.0.0.1:${upstream.address().port}`;

const row = (page, name) => page.locator(`#source-${name}`);
const states = (page, name, state) => row(page, name).locator(`.strip [data-state=${state}]`);

/** The first visit: the password is chosen, and the desk is where one wanted to be. */
async function signIn() {
  const operator = await person(DESKTOP);
  await operator.clock.install();
  const page = await visit(operator, "/collect/operate");
  assert.equal(new URL(page.url()).pathname, "/console/sign-in");
  await setUp(page, PASSWORD);
  // The overview would go to the sign-in page as soon as it misses its session.
  await page.goto("about:blank");
  await operator.clearCookies();
  await go(page, "/collect/operate");
  await page.fill("#password", PASSWORD);
  await page.click("button");
  await page.waitForURL("**/collect/operate");
  return { operator, page };
}

async function add(page, name, interval) {
  await go(page, "/collect/operate/new");
  await page.fill("#name", name);
  await page.fill("#baseUrl", base);
  await page.fill("#intervalSeconds", String(interval));
  await page.click(".source-form button");
  await row(page, name).waitFor();
}

async function askAgain(page, name, minutes, reprocess) {
  await go(page, `/collect/operate?q=${name}`);
  const card = row(page, name);
  await card.locator("summary").filter({ hasText: "再取得" }).click();
  // The form is in the reader's zone, which is nine hours ahead.
  const field = (at) => new Date(at + 9 * 3_600_000).toISOString().slice(0, 19);
  await card.locator("[name=from]").fill(field(now() - minutes * 60_000));
  await card.locator("[name=to]").fill(field(now()));
  await card.locator("[name=reprocess]").selectOption(reprocess);
  await card.locator("[name=rate]").fill("500");
  await card.getByRole("button", { name: "開始" }).click();
  await page.locator("#backfills li").first().locator(".is-done:visible").waitFor();
}

/** When the first backfill was asked for. */
let filled = 0;
/** How many of those that stood in a strip then, one in `every` slots of five seconds, must still be there. */
const left = (count, every = 1) => Math.max(0, count - (now() - filled) / 5_000 / every);

/** Backfills bring all kinds of slots without waiting for them. */
async function fails(page) {
  filled = now();
  await askAgain(page, "osaka", 16, "none");
  await until("slots that came late", () => states(page, "osaka", "late").count().then((n) => n > left(50)), true);
  // Another count for some, which were stored before.
  behave = (from) => ({ status: 200, count: Math.floor(from / 5) % 11 + (from % 60 === 25 ? 100 : 0) });
  await askAgain(page, "osaka", 5, "all");
  await until("conflicts", () => states(page, "osaka", "conflict").count().then((n) => n > left(3, 12)), true);
  // Another source fails in two ways, and never so often in a row that its breaker opens at once.
  behave = (from) => ({ status: { 0: 404, 15: 503 }[from % 30] ?? 200, count: 7 });
  await add(page, "kyoto", 5);
  await askAgain(page, "kyoto", 5, "none");
  for (const state of ["failed", "retrying", "late"]) await states(page, "kyoto", state).first().waitFor();
  // They were there when the page was made, or are told since.
  await page.locator("#dead-letters li, #new-letters:visible").first().waitFor();
  await page.reload();
  await page.locator("#dead-letters li").first().waitFor();
  behave = (from) => ({ status: 200, count: Math.floor(from / 5) % 11 });
  const letters = await page.locator("#dead-letters .lines li").count();
  await page.locator("#dead-letters").getByRole("button", { name: /^再試行/ }).first().click();
  await page.locator(".notice", { hasText: "もう一度試します" }).waitFor();
  assert.ok(letters > 1);
}

/** What was given up is a problem on the overview, which leads to it; the search finds the source. */
async function isTold(page) {
  // Queues count what was given up once a minute.
  await advance(61);
  await go(page, "/console");
  const problem = page.locator("#problem-list a[data-problem=dead_letters]");
  await problem.waitFor();
  assert.match(await problem.textContent(), /デッドレター/);
  assert.equal(await page.locator("#calm").isVisible(), false);
  await isAccessible(page, "an overview with a problem");
  await picture(page, "problem");
  await problem.click();
  await page.waitForURL("**/console/flow");
  await page.locator(".letters li").first().waitFor();
  await page.keyboard.press("Control+k");
  await page.fill("#search-field", "kyo");
  const found = page.locator("#search-found [role=option]", { hasText: "kyoto" });
  await found.click();
  await page.waitForURL("**/collect/operate?q=kyoto");
  await row(page, "kyoto").waitFor();
}

/** A gauge that everybody may read: strangers see it, and none of the others. */
async function measures(page) {
  behave = (from) => ({ status: 200, count: 20 + Math.round(Math.sin(from / 300) * 250) / 10 });
  await go(page, "/collect/operate/new");
  await page.fill("#name", "meter");
  await page.fill("#metric", "temperature");
  await page.fill("#baseUrl", base);
  await page.selectOption("[name=kind]", "gauge");
  await page.selectOption("[name=readers]", "everyone");
  await page.selectOption("[name=mode]", "instant");
  assert.equal(await page.getAttribute("#lagSeconds", "placeholder"), "0");
  await page.selectOption("[name=mode]", "");
  await page.click(".source-form button");
  await row(page, "meter").locator(".hint", { hasText: "計測値 · 期間指定 · 閲覧: 全員" }).waitFor();
  await askAgain(page, "meter", 30, "none");
  const stranger = await person(SMALL);
  const seen = await visit(stranger, "/collect");
  assert.deepEqual(await seen.locator("article h2").allTextContents(), ["meter"]);
  await seen.locator(".figures dt", { hasText: "平均" }).waitFor();
  await stranger.close();
  behave = (from) => ({ status: 200, count: Math.floor(from / 5) % 11 });
}

/** Dead letters of one source are found; a deleted source stays until it is purged. */
async function tidies(page) {
  await go(page, "/collect/operate");
  await page.fill("#of", "nobody");
  await page.locator("#dead-letters form").first().getByRole("button").click();
  await page.locator("#dead-letters .empty:visible").waitFor();
  await page.fill("#of", "kyoto");
  await page.locator("#dead-letters form").first().getByRole("button").click();
  await page.locator("#dead-letters .lines li").first().waitFor();
  await page.locator("#dead-letters").getByRole("button", { name: "すべて再試行" }).click();
  await page.locator(".notice", { hasText: "すべてもう一度試します" }).waitFor();
  await add(page, "nara", 5);
  await row(page, "nara").locator("summary", { hasText: "その他" }).click();
  await row(page, "nara").locator("summary", { hasText: "削除" }).click();
  await row(page, "nara").getByRole("button", { name: /削除/ }).click();
  await page.locator("#gone li", { hasText: "nara" }).waitFor();
}

/** An answer is looked at, and nothing of it becomes a page. */
async function previews(page) {
  await go(page, "/collect/operate?q=osaka");
  await row(page, "osaka").getByRole("button", { name: "応答を確認" }).click();
  const shown = row(page, "osaka").locator(".preview");
  await shown.locator("pre", { hasText: "<b>長屋</b>" }).waitFor();
  await shown.locator("dd", { hasText: "200 application/json" }).waitFor();
  assert.equal(await shown.locator("b").count(), 0);
}

/** The network is away for a while: the desk loses nothing that it showed, and shows new slots. */
async function tunnels(page) {
  const old = await states(page, "fast", "ok").last().getAttribute("title");
  await page.context().setOffline(true);
  await page.locator("#offline").waitFor();
  const before = asked;
  await advance(5, page);
  await until("slots in the tunnel", () => asked > before + 4, true);
  const { readings } = await readsTwiceAtATime(page);
  await page.context().setOffline(false);
  await page.locator("#offline").waitFor({ state: "hidden" });
  await bounded("two readings of the ledger", readings);
  await page.unrouteAll({ behavior: "wait" });
  const reading = () => row(page, "fast").locator(".reading").textContent();
  for (const nth of ["first", "second"]) {
    const seen = await reading();
    await advance(1, page);
    await until(`the ${nth} slot after the tunnel`, async () => (await reading()) !== seen, true);
  }
  assert.equal(await row(page, "fast").locator(`.strip [title="${old}"]`).count(), 1, old);
}

/**
 * The ledger is asked when the stream is back, and for the gap. Neither is answered before both are
 * under way; the answer of the first comes first.
 */
async function readsTwiceAtATime(page) {
  let answered;
  const readings = new Promise((resolve) => (answered = resolve));
  const waiting = [];
  await page.route("**/collect/slots/fast?**", async (route) => {
    waiting.push(route);
    if (waiting.length < 2) return;
    for (const one of waiting.splice(0)) await one.fulfill({ response: await one.fetch() });
    answered();
  });
  return { readings };
}

/** Slots appear by themselves, the time to the next is counted, a pause ends it. */
async function lives(page) {
  await go(page, "/collect/operate?q=fast");
  const next = row(page, "fast").locator("[data-slot=next]");
  await until("a countdown", async () => /\d+秒後|まもなく/.test(await next.textContent()), true);
  // It is asked from the next whole minute on.
  await advance(60 + 8, page);
  await states(page, "fast", "ok").nth(4).waitFor();
  const drawn = row(page, "fast").locator("canvas");
  assert.ok((await drawn.boundingBox()).width > 300);
  const bars = row(page, "fast").locator(".histogram [data-slot=bar]");
  assert.ok((await bars.allTextContents()).some((count) => Number(count) > 0));
  await tunnels(page);
  await row(page, "fast").getByRole("button", { name: "休止" }).click();
  await row(page, "fast").locator(".badge", { hasText: "休止中" }).waitFor();
  await row(page, "fast").getByRole("button", { name: "今すぐ取得" }).click();
  await page.locator(".notice", { hasText: "取得を実行しました" }).waitFor();
}

/** The whole desk without script. */
async function doesWithout(operator) {
  const plain = await person(SMALL, { javaScriptEnabled: false, lang: "en" });
  await plain.addCookies(await operator.cookies());
  const page = await visit(plain, "/collect/operate?q=osaka", 400);
  assert.ok((await states(page, "osaka", "late").count()) > left(30));
  await row(page, "osaka").getByRole("button", { name: "Pause" }).click();
  await page.locator(".notice", { hasText: "The source is paused." }).waitFor();
  await row(page, "osaka").getByRole("button", { name: "Resume" }).click();
  await page.locator(".notice", { hasText: "next minute" }).waitFor();
  await row(page, "osaka").getByRole("button", { name: "Preview" }).click();
  await row(page, "osaka").locator("pre", { hasText: "長屋" }).waitFor();
  await go(page, "/collect/operate/new");
  await page.fill("#name", "No Name");
  await page.fill("#baseUrl", base);
  await page.click(".source-form button");
  await page.locator("[role=alert]", { hasText: "That was not done." }).waitFor();
  assert.equal(await page.inputValue("#name"), "No Name");
  await plain.close();
}

/** Opens the first part of a card that can be opened. */
const opens = (cards, text) => (page) => page.locator(cards, { hasText: text }).locator("summary").first().click();

/** No field of the form of a backfill lies over the next one. */
async function hasRoom(page) {
  const fields = await page.locator(".backfill .field").evaluateAll((all) => all.map(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth]));
  for (const [wanted, given] of fields) assert.ok(wanted <= given, `a field wants ${wanted} px and has ${given}`);
}

async function looks(operator) {
  const cookies = (await operator.cookies()).filter(({ name }) => name !== "lang");
  await everyLook([
    {
      name: "summary", path: "/collect", sign: "main", enter: (context) => context.addCookies(cookies),
      act: opens("article", "meter"), check: namesItsButtons,
    },
    { name: "desk", path: "/collect/operate", sign: "canvas", check: namesItsButtons },
    { name: "gauge", path: "/collect/operate?q=meter", sign: "canvas", act: opens("article", "meter"), check: hasRoom },
    { name: "new", path: "/collect/operate/new", sign: ".source-form" },
    { name: "form", path: "/collect/operate/edit/osaka", sign: ".source-form" },
  ]);
}

await play(async () => {
  const { operator, page } = await signIn();
  await add(page, "fast", 1);
  await add(page, "osaka", 5);
  await fails(page);
  await isTold(page);
  await measures(page);
  await tidies(page);
  await previews(page);
  await lives(page);
  await doesWithout(operator);
  await looks(operator);
  // Closing alone leaves a connection that is in use, and the collector uses it every five seconds
  // from then on: the script would never end.
  upstream.close();
  upstream.closeAllConnections();
});
