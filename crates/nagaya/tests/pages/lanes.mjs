// The lanes of the wall, by properties: random schedules are played, and every comment is looked at
// all along its flight.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

const source = await readFile(new URL("../../../live/src/pages/assets/lanes.js", import.meta.url), "utf8");
const { earliest, emptyLanes, place } = await import(`data:text/javascript,${encodeURIComponent(source)}`);

const SCHEDULES = 1_000;
/** Rounding of numbers that are added up in another order, in pixels. */
const SLACK = 1e-6;

/** Small, and the same everywhere: mulberry32. */
function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A wall and comments that come to it: calm or crowded, alike or not. */
function schedule(seed) {
  const next = random(seed);
  const between = (low, high) => low + next() * (high - low);
  const viewport = between(320, 4_000);
  const wall = { viewport, gap: between(0, 60), patience: between(0, 8_000) };
  const count = Math.floor(between(1, 80));
  const pause = between(1, 500);
  const speed = viewport / between(3_000, 20_000);
  const stretch = between(1, 4);
  const comments = [];
  let now = between(0, 1e6);
  for (let index = 0; index < count; index += 1) {
    now += next() < 0.1 ? 0 : between(0, pause);
    const width = between(1, next() < 0.1 ? 5 * viewport : viewport / 2);
    const span = next() < 0.3 ? 2 : 1;
    comments.push({ now, width, speed: speed * between(1, stretch), span });
  }
  const lanes = Math.floor(between(2, 25));
  return { lanes, wall: { ...wall, among: Math.floor(between(2, lanes + 1)) }, comments };
}

/** What becomes of all comments. */
function play({ lanes: count, wall, comments }) {
  let lanes = emptyLanes(count);
  const flights = [];
  let leftOut = 0;
  for (const comment of comments) {
    const before = lanes.slice();
    const found = place(lanes, { ...wall, ...comment });
    assert.deepEqual(lanes, before, "the lanes that were given are as they were");
    if (found) {
      lanes = found.lanes;
      assert.equal(found.lane % comment.span, 0);
      // One that takes several lanes flies in each of them.
      for (let lane = found.lane; lane < found.lane + comment.span; lane += 1) {
        flights.push({ ...comment, lane, start: found.start });
      }
    } else {
      // It is only left out if no lane takes it in time.
      const wish = { ...wall, ...comment };
      for (let lane = 0; lane + comment.span <= wall.among; lane += comment.span) {
        const taken = lanes.slice(lane, lane + comment.span);
        assert.ok(taken.some((last) => earliest(last, wish) > comment.now + wall.patience));
      }
      leftOut += comment.span;
    }
  }
  return { flights, leftOut };
}

const left = ({ start, speed }, viewport, at) => viewport - speed * (at - start);
const end = ({ start, speed, width }, viewport) => start + (viewport + width) / speed;

/** Moments at which a comment is on the screen, its first and its last among them. */
function moments(flight, viewport) {
  const last = end(flight, viewport);
  return Array.from({ length: 12 }, (_, index) => flight.start + ((last - flight.start) * index) / 11);
}

function each(check) {
  for (let seed = 0; seed < SCHEDULES; seed += 1) {
    const one = schedule(seed);
    try {
      check(one, play(one));
    } catch (error) {
      error.message = `seed ${seed}: ${error.message}`;
      throw error;
    }
  }
}

function byLane(flights) {
  const lanes = new Map();
  for (const flight of flights) lanes.set(flight.lane, [...(lanes.get(flight.lane) ?? []), flight]);
  return [...lanes.values()];
}

test("comments of one lane never touch, wherever they are on the screen", () => {
  each(({ wall: { viewport, gap } }, { flights }) => {
    for (const lane of byLane(flights)) {
      for (const [index, flight] of lane.entries()) {
        for (const other of lane.slice(index + 1)) {
          const together = [...moments(flight, viewport), ...moments(other, viewport)].filter(
            (at) => at >= other.start && at <= end(flight, viewport),
          );
          for (const at of together) {
            const behind = left(other, viewport, at);
            const ahead = left(flight, viewport, at) + flight.width;
            assert.ok(behind >= ahead + gap - SLACK, `${behind} is behind ${ahead}`);
          }
        }
      }
    }
  });
});

test("nobody overtakes: in a lane comments enter and leave in the order in which they came", () => {
  each(({ wall: { viewport } }, { flights }) => {
    for (const lane of byLane(flights)) {
      for (const [index, flight] of lane.entries()) {
        const next = lane[index + 1];
        if (!next) continue;
        assert.ok(flight.now <= next.now && flight.start < next.start);
        assert.ok(end(flight, viewport) <= end(next, viewport) + SLACK);
      }
    }
  });
});

test("every comment flies within its patience or is counted as left out", () => {
  let waited = 0;
  let leftOver = 0;
  each(({ wall: { among, patience }, comments, lanes }, { flights, leftOut }) => {
    assert.equal(flights.length + leftOut, comments.reduce((sum, { span }) => sum + span, 0));
    for (const { lane, start, now } of flights) {
      assert.ok(lane >= 0 && lane < among && among <= lanes);
      assert.ok(start >= now && start <= now + patience);
      if (start > now) waited += 1;
    }
    leftOver += leftOut;
  });
  // The schedules are such that these words mean something.
  assert.ok(waited > 1_000 && leftOver > 1_000, `${waited} waited, ${leftOver} were left out`);
});

test("an empty wall shows a comment at once, in the first lane", () => {
  const wish = { width: 300, speed: 0.2, now: 1_000, viewport: 1_920 };
  assert.deepEqual(place(emptyLanes(3), wish), {
    lane: 0,
    start: 1_000,
    lanes: [{ start: 1_000, width: 300, speed: 0.2 }, null, null],
  });
  assert.equal(emptyLanes(0).length, 1, "a wall of any size has a lane");
});

test("a faster comment waits until it cannot catch the one before it", () => {
  const before = { start: 0, width: 100, speed: 0.1 };
  // It is gone at 11 000 ms; one of twice its speed needs 5 000 ms to the left edge.
  const wish = { width: 10, speed: 0.2, now: 0, viewport: 1_000 };
  assert.equal(earliest(before, wish), 6_000);
  assert.equal(earliest(before, { ...wish, speed: 0.1 }), 1_000);
});
