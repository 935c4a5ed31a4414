// An afternoon at the sample game: the vectors in the browser, three players by keys, mouse and
// touch, somebody who watches, and the operator.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { picture } from "./appearance.mjs";
import { DESKTOP, LAPTOP, PHONE, SMALL, go, person, play, setUp, until, url, visit } from "./browser.mjs";
import { advance } from "./clock.mjs";

const root = process.env.NAGAYA_ROOT;
const key = process.env.NAGAYA_KEY;
const { Score, ScoreError, sign } = await import(`${root}/examples/score-game/client.js`);
const GAME = "akari";
const PASSWORD = "a sentence to remember";
const month = new Date().toISOString().slice(0, 7);
/** How long a play takes, and how long a player needs for a window of it. */
const PLAY_SECONDS = 10;
const HIT_SECONDS = 0.5;

/** Names of a ranking on a page, by rank. */
const names = (page, id = "rows") => page.locator(`#${id} tr th`).allTextContents();

/** What players without a browser keep, by their ids. */
const storages = new Map();

/** A player without a browser, by the same module. */
function client(userId) {
  const known = new Score({ url, gameId: GAME, userId, storage: storages.get(userId) });
  storages.set(userId, known.storage);
  return known;
}

/** Takes the secret of a player along from its browser. */
async function takeAlong(page, userId) {
  const kept = await page.evaluate(() => Object.entries(localStorage));
  const [, secret] = kept.find(([name]) => name.startsWith("nagaya.score.secret:") && name.endsWith(`:${userId}`));
  client(userId).storage.setItem(`nagaya.score.secret:${url}/score:${userId}`, secret);
}

async function scores(userId, player, score) {
  const begun = await client(userId).begin();
  await advance(1);
  return begun.submit({ score, timeMs: 900, player });
}

/** Lets players score who have no ten seconds. */
async function hurries() {
  const [game] = JSON.parse(await readFile(`${root}/examples/score-game/games.json`, "utf8"));
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const body = JSON.stringify({ ...game, maxScorePerSecond: 5_000 });
  const answer = await fetch(`${url}/score/games/${GAME}`, { method: "PUT", headers, body });
  assert.equal(answer.status, 200);
}

/** The repository's vectors, by the WebCrypto of this browser and of Node. */
async function agreesWithTheVectors(page) {
  const vectors = JSON.parse(await readFile(`${root}/crates/score/vectors.json`, "utf8"));
  assert.ok(vectors.signatures.length >= 3);
  const made = await page.evaluate(async ({ key, start, end, signatures, player }) => {
    const { base64url, hmac, sign } = await import("/score/play/client.js");
    const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const seal = async ({ payload }) => {
      const text = base64url(new TextEncoder().encode(JSON.stringify(payload)));
      return `${text}.${base64url(await hmac(key, text))}`;
    };
    const signed = async ({ user: userId, score, time_ms: timeMs, period, message }) => ({
      base64url: await sign(end.token, { userId, score, timeMs, period }),
      hex: hex(await hmac(end.token, message)),
    });
    return {
      start: await seal(start),
      end: await seal(end),
      signatures: await Promise.all(signatures.map(signed)),
      player: encodeURIComponent(player.name),
    };
  }, vectors);
  assert.deepEqual([made.start, made.end], [vectors.start.token, vectors.end.token]);
  assert.equal(made.player, vectors.player.header);
  for (const [index, wanted] of vectors.signatures.entries()) {
    const { base64url, hex } = wanted;
    assert.deepEqual(made.signatures[index], { base64url, hex });
    const { user: userId, score, time_ms: timeMs, period } = wanted;
    assert.equal(await sign(vectors.end.token, { userId, score, timeMs, period }), base64url);
  }
}

/** Somebody at the game, whose time passes only as the story says: every machine plays alike. */
async function playsAt(viewport, how) {
  const context = await person(viewport, how);
  await context.clock.install();
  return visit(context, "/score/play/");
}

/** Begins a play and hits windows. */
async function hits(page, name, times, hit) {
  await page.fill("#player", name);
  await page.clock.pauseAt(Date.now() + 1_000);
  await page.press("#player", "Enter");
  for (let time = 0, points = 0; time < times; time += 1) {
    await hit(await page.textContent("#house .lit"));
    points += 10 + time;
    await until(`the points of ${name}`, () => page.textContent("#score"), String(points));
    await page.clock.runFor(HIT_SECONDS * 1_000);
  }
}

/** The rest of the ten seconds passes; what the page says then. */
async function ends(page) {
  await page.clock.runFor(PLAY_SECONDS * 1_000);
  const result = page.locator("#result");
  await until("the score to be sent", async () => /\d/.test((await result.textContent()) ?? ""), true);
  return { told: await result.textContent(), points: Number(await page.textContent("#score")) };
}

const pane = (page, digit) => page.locator(`#house button:nth-child(${digit})`);

async function threePlay(watcher) {
  const [keys, mouse, touch] = await Promise.all([
    playsAt(DESKTOP),
    playsAt(LAPTOP, { lang: "en" }),
    playsAt(SMALL, { hasTouch: true }),
  ]);
  await agreesWithTheVectors(keys);
  await Promise.all([
    hits(keys, "長屋の花子", 10, (digit) => keys.keyboard.press(digit)),
    hits(mouse, "Ada", 8, (digit) => pane(mouse, digit).click()),
    hits(touch, "たろう🎮", 6, (digit) => pane(touch, digit).tap()),
  ]);
  await advance(PLAY_SECONDS);
  const told = await Promise.all([keys, mouse, touch].map(ends));
  await Promise.all([picture(keys, "play-done"), picture(touch, "play-touch-done")]);
  assert.deepEqual(told.map(({ points }) => points), [145, 108, 75]);
  assert.match(told[0].told, /点.*位です。/);
  assert.match(told[1].told, /points! You are number \d+\./);
  const rows = await new Score({ url, gameId: GAME, userId: "x" }).ranking();
  const mine = rows.find(({ userName }) => userName === "長屋の花子");
  assert.equal(mine.score, told[0].points);
  assert.deepEqual(rows.map(({ userName }) => userName), ["長屋の花子", "Ada", "たろう🎮"]);
  const all = rows.map(({ userName }) => userName);
  await until("the board of all", () => names(watcher), all);
  await until("the board beside the game", async () => {
    // It follows a change with a pause.
    await keys.clock.runFor(1_000);
    return keys.locator("#board bdi").allTextContents();
  }, all);
  await keys.clock.resume();
  return { player: keys, third: touch, mine };
}

/** A row that gets better moves as the same element, sliding; who was away misses nothing. */
async function moves(watcher, third) {
  const [, , last] = await names(watcher);
  const row = watcher.locator("#rows tr", { hasText: last });
  const userId = await row.getAttribute("data-user");
  const stolen = await new Score({ url, gameId: GAME, userId }).begin().catch((error) => error.code);
  assert.equal(stolen, "player_secret_invalid", "an id is its player's");
  await takeAlong(third, userId);
  await watcher.evaluate((user) => {
    document.querySelector(`[data-user="${user}"]`).dataset.mark = "same";
    globalThis.slid = 0;
    const { animate } = Element.prototype;
    Element.prototype.animate = function (frames, how) {
      if (frames.transform) globalThis.slid += 1;
      return animate.call(this, frames, how);
    };
  }, userId);
  await scores(userId, last, 1_400);
  const better = await scores(userId, last, 1_400).catch((error) => error);
  assert.equal(better.updated, false, "equal is not better");
  await scores("n-1", "速い人", 1_500);
  await until("who is first", () => watcher.locator("#rows tr:first-child th").textContent(), "速い人");
  assert.equal(await row.getAttribute("data-mark"), "same");

  await watcher.context().setOffline(true);
  await watcher.locator("#state:not(.is-live)").waitFor();
  await scores("n-2", "留守の間に", 1_450);
  await watcher.context().setOffline(false);
  await until("what was missed", async () => (await names(watcher)).includes("留守の間に"), true);
  const rows = await new Score({ url, gameId: GAME, userId: "x" }).ranking();
  await until("the same list", () => names(watcher), rows.map(({ userName }) => userName));
  const ranks = await watcher.locator("#rows .rank").allTextContents();
  assert.deepEqual(ranks, rows.map(({ rank }) => String(rank)));
  assert.ok((await watcher.evaluate(() => globalThis.slid)) > 0, "nothing slid");
}

async function findsThemselves(watcher, { player, mine }) {
  await watcher.fill("#me", "nobody-here");
  await watcher.press("#me", "Enter");
  await watcher.locator("#lost").waitFor();
  await watcher.fill("#me", mine.userId);
  await watcher.press("#me", "Enter");
  await watcher.locator("#neighbours .mine", { hasText: "長屋の花子" }).waitFor();
  await watcher.locator("#standing", { hasText: /5人中 \d位/ }).waitFor();
  await watcher.locator("#rows .mine").waitFor();
  await watcher.locator(".periods a").nth(1).click();
  await watcher.locator("#rows .mine", { hasText: "長屋の花子" }).waitFor();
  await watcher.locator("#neighbours .mine").waitFor();
  await watcher.goBack();
  await watcher.locator("#rows .mine").waitFor();
  // Who has played is known on the board without being asked.
  await player.click("#whole");
  await player.locator("#neighbours .mine", { hasText: "長屋の花子" }).waitFor();
}

/** Two tabs of one browser play at the same time; one of them is loaded again before it has sent. */
async function playsInTwoTabs() {
  const first = await playsAt(DESKTOP);
  const second = await visit(first.context(), "/score/play/");
  await first.route("**/score/scores/**", (route) => route.abort("internetdisconnected"));
  await hits(first, "二つのタブ", 3, (digit) => first.keyboard.press(digit));
  // Both tabs have one clock, which stands by now.
  await second.fill("#player", "二つのタブ");
  await second.press("#player", "Enter");
  await second.keyboard.press(await second.textContent("#house .lit"));
  await second.clock.runFor(HIT_SECONDS * 1_000);
  await advance(PLAY_SECONDS);
  const { told } = await ends(second);
  assert.match(told, /^10 点/);
  await until("the other play to be kept", () => first.evaluate(() => {
    const kept = Object.entries(localStorage).filter(([name]) => name.startsWith("nagaya.score.play:"));
    return kept.map(([, play]) => [JSON.parse(play).score, "tokenEnd" in JSON.parse(play)]);
  }), [[33, true]]);
  await first.unroute("**/score/scores/**");
  await first.reload();
  await until("the play of before", async () => /^33 点/.test(await first.textContent("#result")), true);
  assert.deepEqual(await first.evaluate(() => Object.keys(localStorage).filter((name) => name.includes("play:"))), []);
}

/** A play that is signed and cannot have been. */
async function cheats() {
  const cheat = client("cheat");
  const { tokenStart } = await cheat.begin();
  // No play ends in the millisecond in which it begins.
  await advance(0.1);
  const end = await cheat.ask("/get-end", { headers: { "x-token-start": tokenStart } });
  const play = { userId: "cheat", score: 99_999, timeMs: 1, period: "ALL" };
  const headers = {
    "x-token-start": tokenStart,
    "x-token-end": end.token_end,
    "x-sig": await sign(end.token_end, play),
    "x-score": "99999",
    "x-time-ms": "1",
    "x-player": "cheat",
    ...cheat.proof,
  };
  const refused = await cheat.ask(`/scores/${GAME}/ALL/cheat`, { method: "PUT", headers }).catch((error) => error);
  assert.ok(refused instanceof ScoreError);
  assert.deepEqual([refused.status, refused.code], [403, "score_too_high"]);
}

async function operates(watcher) {
  await cheats();
  const desk = await visit(await person(LAPTOP), "/score/operate", 401);
  desk.expects = (message) => /完全に削除しますか|このゲームを削除しますか/.test(message);
  await desk.fill("#key", "wrong");
  await desk.press("#key", "Enter");
  await desk.locator("#told", { hasText: "この鍵は無効" }).waitFor();
  await desk.fill("#key", key);
  await desk.press("#key", "Enter");
  const suspicion = desk.locator("#suspicions li", { hasText: "cheat" });
  await suspicion.getByText("スコアが高すぎる").waitFor();
  await suspicion.getByRole("button", { name: "送信を禁止" }).click();
  assert.equal(await desk.inputValue("#ban-user"), "cheat");
  await desk.click("#ban button");
  await desk.locator("#bans li", { hasText: "cheat" }).waitFor();
  const banned = await scores("cheat", "cheat", 10).catch((error) => error.code);
  assert.equal(banned, "banned");

  await desk.fill("#score-game", GAME);
  await desk.fill("#score-user", "n-1");
  await desk.fill("#score-reason", "速すぎる");
  await desk.click("#score button");
  await desk.locator("#told", { hasText: "削除しました" }).waitFor();
  await until("the row to be gone", async () => (await names(watcher)).includes("速い人"), false);
  assert.notEqual((await client("n-1").rank(month))?.rank, undefined, "of one period");
  await desk.fill("#score-game", GAME);
  await desk.check("#score-all");
  assert.equal(await desk.isDisabled("#score-period"), true);
  await desk.fill("#score-user", "n-1");
  await desk.fill("#score-reason", "速すぎる");
  await desk.click("#score button");
  await until("the other row to be gone", async () => (await client("n-1").rank(month)) === undefined, true);

  await desk.fill("#ban-user", "n-2");
  await desk.fill("#ban-reason", "自動操作");
  await desk.click("#ban button");
  await desk.locator("#told", { hasText: "外した記録: 2件" }).waitFor();
  await until("the rows to be off", async () => (await names(watcher)).includes("留守の間に"), false);
  await desk.locator("#bans li", { hasText: "n-2" }).getByRole("button").click();
  await desk.locator("#told", { hasText: "戻した記録: 2件" }).waitFor();
  await until("the rows to be back", async () => (await names(watcher)).includes("留守の間に"), true);

  await desk.selectOption("#pick", GAME);
  await desk.fill("#topN", "2");
  await desk.click("#game .primary");
  await desk.locator("#told", { hasText: "保存しました" }).waitFor();
  await desk.selectOption("#pick", "");
  await desk.fill("#name", "new.game");
  await desk.click("#game .primary");
  await until("the new game", () => desk.locator("#pick option").allTextContents(), ["新しいゲーム", GAME, "new.game"]);
  await desk.click("#delete-game");
  await until("its end", () => desk.locator("#pick option").allTextContents(), ["新しいゲーム", GAME]);

  assert.equal(await desk.isDisabled("#trim"), true, "first it is tried");
  await desk.click("#dry");
  const line = desk.locator("#trims tbody tr", { hasText: "akari ALL" });
  await until("what would go", () => line.locator("td").allTextContents(), ["2", "3"]);
  await picture(desk, "desk");
  await desk.click("#trim");
  await desk.locator("#trims-said", { hasText: "整理しました" }).waitFor();
  await until("the board after the trim", async () => (await names(watcher)).length, 2);
  const first = desk.locator("#audit li").first();
  await first.getByText("整理").waitFor();
  await desk.locator("#whole").waitFor();
  assert.equal(await desk.locator("#audit li").count(), 10);
  await desk.click("#leave");
  await desk.locator("#enter").waitFor();
  assert.equal(await desk.evaluate(() => sessionStorage.length), 0);
}

/** The operator who is signed in to the console needs no key. */
async function operatesSignedIn() {
  const operator = await person(LAPTOP);
  const desk = await visit(operator, "/score/operate", 401);
  await desk.locator("#enter").waitFor();
  await setUp(desk, PASSWORD);
  // The overview would go to the sign-in page as soon as it misses its session.
  await desk.goto("about:blank");
  await operator.clearCookies();
  await go(desk, "/score/operate");
  await desk.click("#enter a");
  await desk.fill("#password", PASSWORD);
  await desk.click("button");
  await desk.waitForURL("**/score/operate");
  await desk.locator("#desk").waitFor();
  assert.deepEqual([await desk.isHidden("#enter"), await desk.isHidden("#leave")], [true, true]);
  await desk.locator("#bans li", { hasText: "cheat" }).getByRole("button").click();
  await until("the ban to end", () => desk.locator("#bans li").count(), 0);
  await desk.locator("#audit li", { hasText: "operator" }).waitFor();
  await picture(desk, "desk-signed-in");
}

await play(async () => {
  const watcher = await visit(await person(DESKTOP), `/score/board/${GAME}`);
  await watcher.locator("#nobody").waitFor();
  await watcher.locator(".is-live").waitFor();
  const played = await threePlay(watcher);
  await hurries();
  await moves(watcher, played.third);
  await findsThemselves(watcher, played);
  await playsInTwoTabs();
  await picture(watcher, "board-after-play");
  const plain = await person(PHONE, { javaScriptEnabled: false });
  const page = await visit(plain, `/score/board/${GAME}`);
  assert.deepEqual(await names(page), await names(watcher), "the same without script");
  await operates(watcher);
  await operatesSignedIn();
});
