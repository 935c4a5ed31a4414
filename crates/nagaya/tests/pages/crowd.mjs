// Sixty comments a second on a wall that nobody has prepared for them: it keeps its frames, makes
// letters small by itself, nothing touches, and nothing is lost without being counted.

import assert from "node:assert/strict";
import { picture } from "./appearance.mjs";
import { PROJECTOR, person, play, until, url, visit } from "./browser.mjs";
import { runAt } from "./wall.mjs";

const hostId = "0123456789abcdef0123456789abcdef";
const PER_SECOND = 60;
const SECONDS = 3;
/**
 * Frames in a second that the wall keeps at least, drawn without a graphics card on a machine that
 * serves, sends and draws at once. A machine that only draws keeps them all.
 */
const FRAMES_MIN = 12;
const TEXTS = ["いいね!", "88888888", "Great talk 🎉", "レーンはどうやって決めますか?", "なるほど〜", "w"];

async function post(path, body) {
  const answer = await fetch(`${url}/live/rooms${path}`, { method: "POST", body: JSON.stringify({ ...body, hostId }) });
  assert.equal(answer.status, 201);
  return answer.json();
}

/** Counts, inside the page: frames, comments that have flown, comments that were left out. */
function watch() {
  const seen = { frames: 0, flown: new Set(), before: 0, left: 0, overlaps: [] };
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
    for (const element of flow.querySelectorAll(".fly:not([hidden])")) {
      const { left, right } = element.getBoundingClientRect();
      const text = element.lastElementChild.getBoundingClientRect();
      if (text.right > right + 1) seen.overlaps.push(`${element.textContent} is wider than it was measured`);
      // Large letters take two lanes.
      const first = Number(element.dataset.lane);
      for (const lane of element.classList.contains("is-small") ? [first] : [first, first + 1]) {
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

await play(async () => {
  const room = await post("", { name: "crowd" });
  const wall = await visit(await person(PROJECTOR), `/live/wall/${room.roomId}`);
  await wall.evaluate(watch);
  const count = PER_SECOND * SECONDS;
  const begin = Date.now();
  const sent = [];
  const frames = await wall.evaluate(() => globalThis.seen.frames);
  for (let number = 0; number < count; number += 1) {
    sent.push(post(`/${room.roomId}/comments`, { content: `${TEXTS[number % TEXTS.length]} ${number}` }));
    const wait = begin + (number * 1_000) / PER_SECOND - Date.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  }
  await Promise.all(sent);
  const seconds = (Date.now() - begin) / 1_000;
  const kept = ((await wall.evaluate(() => globalThis.seen.frames)) - frames) / seconds;
  await picture(wall, "crowd");
  // Frames were counted in real time; the rest need not take as long.
  await runAt(wall, 10);
  const all = () => wall.evaluate(() => globalThis.seen.flown.size + globalThis.seen.before + globalThis.seen.left);
  await until("every comment to fly or to be counted", all, count);
  const { flown, overlaps } = await wall.evaluate(() => ({ ...globalThis.seen, flown: globalThis.seen.flown.size }));
  console.log(`${kept.toFixed(0)} frames a second, ${flown} of ${count} comments flew`);
  assert.deepEqual(overlaps, []);
  assert.ok(kept >= FRAMES_MIN, `${kept} frames a second`);
  assert.ok(flown > count / 4, `${flown} comments flew`);
});
