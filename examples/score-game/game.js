// @ts-check
// Akari: lights go on in the windows of a row house. Ten seconds; every window that is hit while it
// is lit counts, and counts more in a row.

import { Score, ScoreError } from "./client.js";

const GAME = "akari";
/** Under which name the browser keeps who plays. */
const ME = "nagaya.score.me";
const PLAY_MS = 10_000;
/** How long a window stays lit. */
const LIT_MS = 1_100;
const HIT = 10;
const COMBO_MAX = 10;
const MISS = 5;
const WINDOWS = 9;
/** The ranking follows a change so much later, in a classroom not for everybody at once. */
const SOON_MS = 1_500;

const WORDS = {
  ja: {
    result: "{score} 点!{rank}位です。",
    kept: "{score} 点。これまでの記録のほうが上です({rank}位)。",
    below: "{score} 点。いまなら{rank}位です。ランキングまであと少し!",
    sending: "送信しています…",
    points: "点",
    no_such_game: "このサーバーにはまだゲーム「akari」がありません。運営画面の「サンプルを入力」で追加できます。",
    rate_limited: "混み合っています。少し待ってからもう一度どうぞ。",
    unreachable: "サーバーが応答しません。少し待ってからもう一度どうぞ。",
    banned: "このプレイヤーは送信できません。",
    other: "スコアを送れませんでした:",
    window: "窓",
  },
  en: {
    title: "Akari",
    lead: "Knock at the windows that are lit, for ten seconds.",
    name: "Your name",
    begin: "Begin",
    score: "Score",
    combo: "In a row",
    left: "Time left",
    house: "Windows of the row house",
    how: "Click, tap, or press 1 to 9. Hits in a row count more.",
    best: "Ranking",
    whole: "The whole ranking",
    result: "{score} points! You are number {rank}.",
    kept: "{score} points. Your best so far is better (number {rank}).",
    below: "{score} points. That would be number {rank}: not far from the ranking!",
    sending: "Sending…",
    points: "points",
    no_such_game: "This server has no game “akari” yet. The operator's desk adds it by “Fill in the sample”.",
    rate_limited: "The house is busy. Wait a moment and play again.",
    unreachable: "The house does not answer. Wait a moment and play again.",
    banned: "This player may not submit.",
    other: "The score could not be sent:",
    window: "Window",
  },
};

const search = new URLSearchParams(location.search);
// The choice that the house's pages remember, else what the browser asks for.
const chosen = search.get("lang") ?? /(?:^|; )lang=(ja|en)/.exec(document.cookie)?.[1] ?? navigator.language;
const lang = chosen.startsWith("ja") ? "ja" : "en";
/** @type {Record<string, string>} */
const words = WORDS[lang];

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);

// Played in a house, it is that house; from anywhere else the address says which.
const isInHouse = location.pathname.startsWith("/score/play");
const url = search.get("house") ?? (isInHouse ? "" : "http://127.0.0.1:8080");
const score = new Score({ url, gameId: GAME, userId: remembered(ME, newId) });

/** @type {{ play: any, from: number, points: number, combo: number, lit: number, last: number } | undefined} */
let game;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let darkness;

/** @param {string} name @param {() => string} make */
function remembered(name, make) {
  const kept = localStorage.getItem(name) || make();
  localStorage.setItem(name, kept);
  return kept;
}

function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return `p-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** @param {number} index the window to light; -1 for none */
function light(index) {
  clearTimeout(darkness);
  for (const [at, pane] of [...byId("house").children].entries()) pane.classList.toggle("lit", at === index);
  if (!game) return;
  game.lit = index;
  darkness = setTimeout(() => {
    if (!game) return;
    game.combo = 0;
    show();
    light(another(index));
  }, LIT_MS);
}

/** @param {number} index */
function another(index) {
  const next = Math.floor(Math.random() * (WINDOWS - 1));
  return next >= index && index >= 0 ? next + 1 : next;
}

/** @param {number} index */
function knock(index) {
  if (!game) return;
  const pane = byId("house").children[index];
  if (index === game.lit) {
    game.points += HIT + Math.min(game.combo, COMBO_MAX);
    game.combo += 1;
    game.last = performance.now();
    pane.animate({ scale: [0.9, 1] }, 150);
    light(another(index));
  } else {
    game.points = Math.max(0, game.points - MISS);
    game.combo = 0;
    pane.animate({ translate: ["-4px", "4px", "0"] }, 150);
  }
  show();
}

function show() {
  byId("score").textContent = game?.points ?? 0;
  byId("combo").textContent = game?.combo ?? 0;
}

function tick() {
  if (!game) return;
  const left = game.from + PLAY_MS - performance.now();
  byId("left").value = Math.max(0, left / PLAY_MS);
  if (left <= 0) end();
  else requestAnimationFrame(tick);
}

async function begin() {
  tell("");
  byId("result").textContent = "";
  byId("begin").disabled = true;
  localStorage.setItem("nagaya.score.player", byId("player").value);
  try {
    const play = await beginAsMe();
    const now = performance.now();
    game = { play, from: now, points: 0, combo: 0, lit: -1, last: now };
    // Digits are knocks now, and no part of a name.
    byId("player").blur();
    byId("house").scrollIntoView({ block: "center" });
    document.body.classList.add("playing");
    show();
    light(another(-1));
    tick();
  } catch (error) {
    byId("begin").disabled = false;
    tell(error);
  }
}

/** Begins a play. An id whose secret this browser has lost is somebody else's now. */
async function beginAsMe() {
  try {
    return await score.begin();
  } catch (error) {
    if (!(error instanceof ScoreError && error.code === "player_secret_invalid")) throw error;
    score.userId = newId();
    localStorage.setItem(ME, score.userId);
    return score.begin();
  }
}

async function end() {
  if (!game) return;
  const { play, points, last, from } = game;
  game = undefined;
  light(-1);
  document.body.classList.remove("playing");
  const result = byId("result");
  result.textContent = words.sending;
  try {
    const timeMs = Math.max(1, Math.round(last - from));
    const player = byId("player").value;
    showResult(points, await play.submit({ score: points, timeMs, player, meta: { lang } }));
    await showBoard();
  } catch (error) {
    result.textContent = "";
    tell(error);
  } finally {
    byId("begin").disabled = false;
  }
}

/** @param {number} points @param {any} stored what the house says */
function showResult(points, stored) {
  const isBelow = stored.reason === "below-threshold";
  const said = stored.updated ? words.result : isBelow ? words.below : words.kept;
  byId("result").textContent = said.replace("{score}", String(points)).replace("{rank}", stored.rank ?? "–");
}

/** Sends what was finished before the page was loaded again. */
async function resume() {
  for (const { played, stored } of await score.resume()) if (stored) showResult(played.score, stored);
}

/** @param {unknown} error */
function tell(error) {
  const code = error instanceof ScoreError ? error.code : "other";
  const message = error instanceof Error ? error.message : "";
  byId("problem").textContent = !error ? "" : (words[code] ?? `${words.other} ${message}`);
}

async function showBoard() {
  const rows = await score.ranking();
  byId("board").replaceChildren(
    ...rows.map((/** @type {any} */ { userId, userName, score: points }) => {
      const item = document.createElement("li");
      item.classList.toggle("mine", userId === score.userId);
      const name = document.createElement("bdi");
      name.textContent = userName;
      item.append(name, ` ${points} ${words.points}`);
      return item;
    }),
  );
}

function translate() {
  document.documentElement.lang = lang;
  for (const element of /** @type {any} */ (document.querySelectorAll("[data-text]"))) {
    element.textContent = words[element.dataset.text] ?? element.textContent;
  }
  for (const element of /** @type {any} */ (document.querySelectorAll("[data-label]"))) {
    const label = words[element.dataset.label];
    if (label) element.setAttribute("aria-label", label);
  }
  document.title = byId("start").previousElementSibling.previousElementSibling.textContent;
}

function build() {
  for (let index = 0; index < WINDOWS; index += 1) {
    const pane = document.createElement("button");
    pane.type = "button";
    pane.textContent = String(index + 1);
    pane.setAttribute("aria-label", `${words.window} ${index + 1}`);
    pane.addEventListener("pointerdown", () => knock(index));
    // By Enter or Space on a window; a pointer has knocked already.
    pane.addEventListener("click", ({ detail }) => detail === 0 && knock(index));
    byId("house").append(pane);
  }
  addEventListener("keydown", ({ key, repeat }) => {
    if (game && !repeat && /^[1-9]$/.test(key)) knock(Number(key) - 1);
  });
}

translate();
build();
byId("player").value = localStorage.getItem("nagaya.score.player") ?? "";
byId("whole").href = `${url}/score/board/${GAME}`;
byId("start").addEventListener("submit", (/** @type {Event} */ event) => {
  event.preventDefault();
  if (!game) begin();
});
/** @type {ReturnType<typeof setTimeout> | undefined} */
let soon;
resume();
showBoard().then(
  () =>
    score.watch(() => {
      soon ??= setTimeout(() => {
        soon = undefined;
        showBoard().catch(() => {});
      }, SOON_MS * (0.5 + Math.random()));
    }),
  tell,
);
