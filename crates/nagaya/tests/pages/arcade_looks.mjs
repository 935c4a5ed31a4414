// Every page of the score room in both languages and themes, on a phone and on a desk: nothing keeps
// anybody out, and nothing is wider than the screen. The pictures are to be looked at.

import assert from "node:assert/strict";
import { everyLook, namesItsButtons, picture } from "./appearance.mjs";
import { PROJECTOR, person, play, url, visit } from "./browser.mjs";

const key = process.env.NAGAYA_KEY;
const NAMES = ["長屋の花子", "Ada Lovelace", "たろう🎮", "さくら", "Ben", "דנה", "無名の挑戦者", "いろはにほへとちりぬるをわかよたれそつねなら"];

async function operate(method, path, body) {
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const answer = await fetch(`${url}/score${path}`, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

/** The same everywhere: mulberry32. */
function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function furnish() {
  const next = random(7);
  const rows = Array.from({ length: 180 }, (_, number) => ({
    userId: `p-${number}`,
    userName: NAMES[number % NAMES.length],
    score: Math.round(200 + 260 * (next() + next() + next())),
    timeMs: Math.round(8_000 + 2_000 * next()),
    updatedAt: "2026-11-01T09:00:00.000Z",
  }));
  const month = new Date().toISOString().slice(0, 7);
  for (const period of ["ALL", month, "2026-09", "2026-10"]) await operate("POST", `/import/akari/${period}`, { rows });
  const sort = [{ by: "timeMs", dir: "asc" }];
  await operate("PUT", "/games/maze-runner", { gameName: "maze-runner", sort, topN: 10, origins: ["https://games.example"] });
  for (const user of ["p-13", "p-14"]) await operate("PUT", `/bans/${user}`, { reason: "自動操作" });
  await operate("DELETE", `/scores/akari/ALL/p-13?reason=${encodeURIComponent("自動操作")}`);
}

/** Each button of the desk says whom it is about, and a box that is ticked looks so. */
async function looksLikeADesk(page, viewport) {
  await usesItsWidth(page, viewport);
  await namesItsButtons(page);
  const box = page.locator("#score-all");
  const color = () => box.evaluate((box) => {
    for (const running of box.getAnimations()) running.finish();
    return getComputedStyle(box).backgroundColor;
  });
  const before = await color();
  await box.check();
  const after = await color();
  await box.uncheck();
  assert.notEqual(before, after, "a ticked box looks like another");
}

/** The head of a page reaches from one side to the other. */
async function usesItsWidth(page, { width }) {
  const head = await page.evaluate(() => document.querySelector(".house")?.offsetWidth ?? innerWidth);
  assert.equal(head, width, `${page.url()} does not use its width`);
}

await play(async () => {
  await furnish();
  const hasKey = (context) => context.addInitScript((key) => sessionStorage.setItem("nagaya.score.key", key), key);
  const pages = [
    { name: "games", path: "/score", sign: ".catalogue li" },
    { name: "board", path: "/score/board/akari/ALL?me=p-40", sign: ".is-live" },
    { name: "empty", path: "/score/board/maze-runner", sign: ".is-live" },
    { name: "enter", path: "/score/operate", sign: "#enter", refused: [401] },
    { name: "play", path: "/score/play/", sign: "#board li" },
    { name: "operate", path: "/score/operate", sign: "#desk:not([hidden]) #audit li", enter: hasKey, check: looksLikeADesk },
  ];
  await everyLook(pages.map((page) => ({ check: usesItsWidth, ...page })));
  const wall = await visit(await person(PROJECTOR), "/score/board/akari");
  await wall.waitForSelector(".is-live");
  await picture(wall, "board-1920");
});
