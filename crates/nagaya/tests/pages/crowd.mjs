// A crowd at a wall that nobody has prepared for it, at one to sixty comments a second: it keeps its
// frames, its letters can be read, nothing touches and nothing covers what stands still, and what is
// not shown is counted.

import assert from "node:assert/strict";
import { picture } from "./appearance.mjs";
import { PROJECTOR, isDeep, person, play, until, url, visit } from "./browser.mjs";
import { runAt } from "./wall.mjs";

const hostId = "0123456789abcdef0123456789abcdef";
/** Comments in a second, and for how many seconds. */
const [MOST, SECONDS] = [60, 3];
/** What the wall shows whole, in letters that can be read. */
const READABLE = 15;
/** Letters in hundredths of the screen's height. */
const LETTERS_MIN = 4;
/** The rates of which a deep run takes pictures too, each on a wall of its own. */
const RATES = [1, 5, READABLE, 30];
/** A talk that runs: comments cross the screen in nine seconds. */
const RATE_SECONDS = 7;
/**
 * Frames in a second that the wall keeps at least, drawn without a graphics card on a machine that
 * serves, sends and draws at once. A machine that only draws keeps them all.
 */
const FRAMES_MIN = 12;
const TEXTS = [
  "いいね!", "88888888", "Great talk 🎉", "レーンはどうやって決めますか?", "なるほど〜", "w", "質問です。録画はありますか?",
  "👏👏👏", "That demo was fast",
];
const NAMES = ["花子", "Ada", "", "太郎", "", "Ben", "さくら"];

async function post(path, body) {
  const answer = await fetch(`${url}/live/rooms${path}`, { method: "POST", body: JSON.stringify({ ...body, hostId }) });
  assert.equal(answer.status, 201);
  return answer.json();
}

/** Counts, inside the page: frames, comments that have flown, comments that were left out. */
function watch() {
  const seen = { frames: 0, flown: new Set(), before: 0, left: 0, overlaps: [], letters: Infinity };
  globalThis.seen = seen;
  const flow = document.getElementById("flow");
  new MutationObserver(() => {
    for (const { dataset } of flow.querySelectorAll(".fly")) seen.flown.add(dataset.id);
  }).observe(flow, { subtree: true, childList: true, attributeFilter: ["data-id"] });
  const note = document.getElementById("note");
  new MutationObserver(() => {
    const number = Number(note.textContent.replace(/\D/g, ""));
    // The note begins again when it was gone.
    if (number < seen.left) seen.before += seen.left;
    seen.left = number;
  }).observe(note, { childList: true });
  const frame = () => {
    seen.frames += 1;
    if (seen.frames % 10 === 0) look();
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);

  /** All comments of this very frame, lane by lane. */
  function look() {
    const lanes = new Map();
    const still = ["join", "pinned", "note"].map((id) => document.getElementById(id).getBoundingClientRect());
    for (const element of flow.querySelectorAll(".fly:not([hidden])")) {
      const { left, right, top, bottom } = element.getBoundingClientRect();
      const text = element.lastElementChild.getBoundingClientRect();
      if (text.right > right + 1) seen.overlaps.push(`${element.textContent} is wider than it was measured`);
      seen.letters = Math.min(seen.letters, (100 * parseFloat(getComputedStyle(element).fontSize)) / innerHeight);
      // It is seen within its band only.
      const band = element.parentElement.getBoundingClientRect();
      const [from, until] = [Math.max(left, band.left), Math.min(right, band.right)];
      for (const box of still) {
        const isCovered = box.left < until && box.right > from && box.top < bottom && box.bottom > top;
        if (isCovered && from < until) seen.overlaps.push(`${element.textContent} covers what stands still`);
      }
      // Large letters take several lanes.
      const first = Number(element.dataset.lane);
      for (let lane = first; lane < first + Number(element.dataset.span); lane += 1) {
        lanes.set(lane, [...(lanes.get(lane) ?? []), { left, right, text: element.textContent }]);
      }
    }
    for (const lane of lanes.values()) {
      lane.sort((one, other) => one.left - other.left);
      for (const [index, { left, text }] of lane.entries()) {
        const ahead = lane[index - 1];
        if (ahead && ahead.right > left) seen.overlaps.push(`${ahead.text} and ${text}`);
      }
    }
  }
}

/** A room with a wall that shows the code in the corner and a pinned comment. */
async function openWall(name) {
  const room = await post("", { name });
  const body = JSON.stringify({ hostId, wall: { join: "corner" } });
  assert.ok((await fetch(`${url}/live/rooms/${room.roomId}`, { method: "PATCH", body })).ok);
  const { commentId } = await post(`/${room.roomId}/comments`, { content: "What is a lane?", nickname: "Ada" });
  const pin = { method: "POST", body: JSON.stringify({ hostId }) };
  assert.ok((await fetch(`${url}/live/rooms/${room.roomId}/comments/${commentId}/pin`, pin)).ok);
  const wall = await visit(await person(PROJECTOR), `/live/wall/${room.roomId}`);
  await wall.locator("#pinned:not([hidden])").waitFor();
  await wall.locator("#join .qr").waitFor();
  await wall.evaluate(watch);
  return { room, wall };
}

/** Says so many in a second, for so many seconds; how long it took. */
async function say(room, perSecond, seconds) {
  const begin = Date.now();
  const sent = [];
  for (let number = 0; number < perSecond * seconds; number += 1) {
    const [content, nickname] = [`${TEXTS[number % TEXTS.length]} ${number}`, NAMES[number % NAMES.length]];
    sent.push(post(`/${room.roomId}/comments`, { content, nickname }));
    const wait = begin + ((number + 1) * 1_000) / perSecond - Date.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  }
  await Promise.all(sent);
  return (Date.now() - begin) / 1_000;
}

const seenBy = (wall) => wall.evaluate(() => ({ ...globalThis.seen, flown: globalThis.seen.flown.size }));

/** Every comment flies or is counted; the pinned one flew when the wall was opened. */
async function isWhole(wall, count) {
  // Frames were counted in real time; the rest need not take as long.
  await runAt(wall, 10);
  const all = async () => {
    const { flown, before, left } = await seenBy(wall);
    return flown + before + left - 1;
  };
  await until("every comment to fly or to be counted", all, count);
  const seen = await seenBy(wall);
  assert.deepEqual(seen.overlaps, []);
  assert.ok(seen.letters >= LETTERS_MIN, `letters of ${seen.letters} %`);
  return seen;
}

async function isReadable(perSecond) {
  const { room, wall } = await openWall(`${perSecond} comments a second`);
  await say(room, perSecond, RATE_SECONDS);
  await picture(wall, `crowd-${perSecond}`);
  const { flown, letters } = await isWhole(wall, perSecond * RATE_SECONDS);
  console.log(`${perSecond} a second: ${flown - 1} of ${perSecond * RATE_SECONDS} flew, letters ${letters.toFixed(1)} %`);
  // The code and the pinned comment take a quarter of this wall: at the bound a few find no lane.
  const least = perSecond < READABLE ? 1 : perSecond === READABLE ? 0.85 : 0;
  assert.ok(flown - 1 >= least * perSecond * RATE_SECONDS, `${flown - 1} flew`);
  await wall.context().close();
}

await play(async () => {
  for (const perSecond of isDeep ? RATES : []) await isReadable(perSecond);
  const { room, wall } = await openWall("crowd");
  const frames = (await seenBy(wall)).frames;
  const seconds = await say(room, MOST, SECONDS);
  const inTime = await seenBy(wall);
  const kept = (inTime.frames - frames) / seconds;
  await picture(wall, `crowd-${MOST}`);
  const count = MOST * SECONDS;
  const { flown } = await isWhole(wall, count);
  console.log(`${kept.toFixed(0)} frames a second, ${flown - 1} of ${count} comments flew`);
  assert.ok(kept >= FRAMES_MIN, `${kept} frames a second`);
  // As many as can be read while they came, and not more.
  const most = READABLE * (seconds + 1) + 1;
  assert.ok(inTime.flown <= most, `${inTime.flown} comments flew of at most ${most}`);
  assert.ok(flown > count / 5, `${flown} comments flew`);
});
