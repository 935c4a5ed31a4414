// Every page of the score room in both languages and themes, on a phone and on a desk: nothing keeps
// anybody out, and nothing is wider than the screen. The pictures are to be looked at.

import assert from "node:assert/strict";
import { PROJECTOR, isAccessible, person, picture, play, url, visit } from "./browser.mjs";

const key = process.env.NAGAYA_KEY;
const SIZES = { 375: { width: 375, height: 812 }, 1440: { width: 1440, height: 900 } };
/** Every language in every width, and every theme with each of them. */
const LOOKS = [
  ["ja", 375, "light"],
  ["ja", 1440, "dark"],
  ["en", 375, "dark"],
  ["en", 1440, "light"],
];
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
  await operate("PUT", "/bans/p-13", { reason: "自動操作" });
  await operate("DELETE", `/scores/akari/ALL/p-13?reason=${encodeURIComponent("自動操作")}`);
}

await play(async () => {
  await furnish();
  const pages = {
    games: ["/score", ".catalogue li"],
    board: ["/score/board/akari/ALL?me=p-40", ".is-live"],
    empty: ["/score/board/maze-runner", ".is-live"],
    operate: ["/score/operate", "#desk:not([hidden]) #audit li"],
    enter: ["/score/operate", "#enter"],
    play: ["/score/play/", "#board li"],
  };
  for (const [lang, size, theme] of LOOKS) {
    for (const [name, [path, sign]] of Object.entries(pages)) {
      const context = await person(SIZES[size], { lang, theme });
      if (name === "operate") {
        await context.addInitScript((key) => sessionStorage.setItem("nagaya.score.key", key), key);
      }
      const page = await visit(context, path, ...(name === "enter" ? [401] : []));
      await page.waitForSelector(sign);
      const called = `${name}-${lang}-${size}-${theme}`;
      await isAccessible(page, called);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${called} is ${wide} pixels too wide`);
      const head = await page.evaluate(() => document.querySelector(".house")?.offsetWidth ?? innerWidth);
      assert.equal(head, SIZES[size].width, `${called} does not use its width`);
      await picture(page, called);
      await context.close();
    }
  }
  const wall = await visit(await person(PROJECTOR), "/score/board/akari");
  await wall.waitForSelector(".is-live");
  await picture(wall, "board-1920");
});
