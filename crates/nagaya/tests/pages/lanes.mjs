// The lanes of the wall and the sampling of comments, by properties: random schedules are played, and
// every comment is looked at all along its flight.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

async function load(name) {
  const source = await readFile(new URL(`../../../live/src/pages/assets/${name}`, import.meta.url), "utf8");
  return import(`data:text/javascript,${encodeURIComponent(source)}`);
}

const { earliest, layOut, place, placesOf } = await load("lanes.js");
const { Sample } = await load("sample.js");

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

const betweenOf = (next) => (low, high) => low + next() * (high - low);

/** A part of a screen, and what stands in it: a code in a corner, a pinned comment, anything. */
function drawScreen(between) {
  const box = { left: between(0, 500), top: between(0, 500), width: between(320, 4_000), height: between(200, 2_000) };
  const reserved = Array.from({ length: Math.floor(between(0, 4)) }, () => ({
    left: box.left + between(-0.1, 1) * box.width,
    top: box.top + between(-0.1, 1) * box.height,
    width: between(0, 0.5) * box.width,
    height: between(0, 0.3) * box.height,
  }));
  return { box, reserved };
}

/** A wall and comments that come to it: calm or crowded, alike or not. */
function schedule(seed) {
  const next = random(seed);
  const between = betweenOf(next);
  const { box, reserved } = drawScreen(between);
  const height = between(box.height / 25, box.height / 2);
  const wall = { gap: between(0, 60), patience: between(0, 8_000), every: next() < 0.2 ? 2 : 1 };
  const count = Math.floor(between(1, 80));
  const pause = between(1, 500);
  const speed = box.width / between(3_000, 20_000);
  const stretch = between(1, 4);
  const comments = [];
  let now = between(0, 1e6);
  for (let index = 0; index < count; index += 1) {
    now += next() < 0.1 ? 0 : between(0, pause);
    const width = between(1, next() < 0.1 ? 5 * box.width : box.width / 2);
    const span = next() < 0.3 ? 2 : 1;
    comments.push({ now, width, speed: speed * between(1, stretch), span, prefer: next() });
  }
  return { box, reserved, height, wall, comments };
}

/** What becomes of all comments. */
function play({ box, reserved, height, wall, comments }) {
  let lanes = layOut(box, height, reserved);
  const flights = [];
  let leftOut = 0;
  for (const comment of comments) {
    const before = structuredClone(lanes);
    const wish = { ...wall, ...comment };
    const found = place(lanes, wish);
    assert.deepEqual(lanes, before, "the lanes that were given are as they were");
    if (found) {
      lanes = found.lanes;
      assert.ok(placesOf(lanes, comment.span).includes(found.lane));
      // One that takes several lanes flies in each of them.
      for (let lane = found.lane; lane < found.lane + comment.span; lane += 1) {
        const { top, left, width: viewport } = lanes[lane];
        flights.push({ ...comment, lane, top, left, viewport, start: found.start });
      }
    } else {
      // It is only left out if no lane takes it in time.
      const places = placesOf(lanes, comment.span).filter((_, nth) => nth % wall.every === 0);
      for (const lane of places) {
        const taken = lanes.slice(lane, lane + comment.span);
        assert.ok(taken.some((one) => earliest(one, wish) > comment.now + wall.patience));
      }
      leftOut += comment.span;
    }
  }
  return { lanes, flights, leftOut };
}

/** The left edge of a comment at a moment, from the left end of its lane. */
const leftAt = ({ start, speed, viewport }, at) => viewport - speed * (at - start);
const end = ({ start, speed, width, viewport }) => start + (viewport + width) / speed;

/** Moments at which a comment is on the screen, its first and its last among them. */
function moments(flight) {
  const last = end(flight);
  return Array.from({ length: 12 }, (_, index) => flight.start + ((last - flight.start) * index) / 11);
}

function each(check, count = SCHEDULES) {
  for (let seed = 0; seed < count; seed += 1) {
    try {
      check(seed);
    } catch (error) {
      error.message = `seed ${seed}: ${error.message}`;
      throw error;
    }
  }
}

function eachPlayed(check) {
  each((seed) => {
    const one = schedule(seed);
    check(one, play(one));
  });
}

function byLane(flights) {
  const lanes = new Map();
  for (const flight of flights) lanes.set(flight.lane, [...(lanes.get(flight.lane) ?? []), flight]);
  return [...lanes.values()];
}

test("comments of one lane never touch, wherever they are on the screen", () => {
  eachPlayed(({ wall: { gap } }, { flights }) => {
    for (const lane of byLane(flights)) {
      for (const [index, flight] of lane.entries()) {
        for (const other of lane.slice(index + 1)) {
          const together = [...moments(flight), ...moments(other)].filter(
            (at) => at >= other.start && at <= end(flight),
          );
          for (const at of together) {
            const behind = leftAt(other, at);
            const ahead = leftAt(flight, at) + flight.width;
            assert.ok(behind >= ahead + gap - SLACK, `${behind} is behind ${ahead}`);
          }
        }
      }
    }
  });
});

test("nobody overtakes: in a lane comments enter and leave in the order in which they came", () => {
  eachPlayed((_, { flights }) => {
    for (const lane of byLane(flights)) {
      for (const [index, flight] of lane.entries()) {
        const next = lane[index + 1];
        if (!next) continue;
        assert.ok(flight.now <= next.now && flight.start < next.start);
        assert.ok(end(flight) <= end(next) + SLACK);
      }
    }
  });
});

test("every comment flies within its patience or is counted as left out", () => {
  let waited = 0;
  let leftOver = 0;
  eachPlayed(({ wall: { patience }, comments }, { lanes, flights, leftOut }) => {
    assert.equal(flights.length + leftOut, comments.reduce((sum, { span }) => sum + span, 0));
    for (const { lane, start, now } of flights) {
      assert.ok(lane >= 0 && lane < lanes.length);
      assert.ok(start >= now && start <= now + patience);
      if (start > now) waited += 1;
    }
    leftOver += leftOut;
  });
  // The schedules are such that these words mean something.
  assert.ok(waited > 1_000 && leftOver > 1_000, `${waited} waited, ${leftOver} were left out`);
});

test("no comment covers a reserved box, nor leaves the part of the screen that was chosen", () => {
  let shortened = 0;
  let closed = 0;
  eachPlayed(({ box, reserved, height }, { lanes, flights }) => {
    for (const { top, left, viewport } of flights) {
      assert.ok(viewport >= box.width / 2 - SLACK, "a lane in which a comment flies can be read");
      assert.ok(left >= box.left - SLACK && left + viewport <= box.left + box.width + SLACK);
      assert.ok(top >= box.top - SLACK && top + height <= box.top + box.height + SLACK);
      for (const other of reserved) {
        const isBeside = other.left + other.width <= left + SLACK || other.left >= left + viewport - SLACK;
        const isAbove = other.top + other.height <= top + SLACK || other.top >= top + height - SLACK;
        assert.ok(isBeside || isAbove, `${JSON.stringify(other)} is covered`);
      }
    }
    shortened += lanes.filter(({ width }) => width > 0 && width < box.width).length;
    closed += lanes.filter(({ width }) => width === 0).length;
  });
  assert.ok(shortened > 1_000 && closed > 100, `${shortened} lanes were shortened, ${closed} closed`);
});

test("comments of several lanes fly where all of them are open and equally wide, and nowhere else", () => {
  each((seed) => {
    const between = betweenOf(random(seed));
    const { box, reserved } = drawScreen(between);
    const lanes = layOut(box, box.height / Math.floor(between(2, 25)), reserved);
    const span = Math.ceil(between(0, 4));
    const places = placesOf(lanes, span);
    for (const [nth, first] of places.entries()) {
      assert.ok(nth === 0 || first >= places[nth - 1] + span, "groups do not overlap");
      const group = lanes.slice(first, first + span);
      assert.ok(group.length === span && group.every(({ width }) => width > 0 && width === group[0].width));
    }
    if (span === 1) assert.equal(places.length, lanes.filter(({ width }) => width > 0).length);
  });
});

test("a few comments are spread over the screen, not put below the first line", () => {
  const height = 100;
  let lanes = layOut({ left: 0, top: 0, width: 2_000, height: 1_000 }, height, []);
  let prefer = 0;
  const tops = [];
  for (let now = 0; now < 5; now += 1) {
    const found = place(lanes, { width: 300, speed: 0.2, now, prefer });
    lanes = found.lanes;
    prefer = (prefer + 0.618034) % 1;
    tops.push(lanes[found.lane].top);
  }
  tops.sort((one, other) => one - other);
  assert.equal(new Set(tops).size, 5);
  assert.ok(tops[0] < 300 && tops[4] > 600, `${tops}`);
});

test("an empty wall shows a comment at once, in the lane that is preferred", () => {
  const wish = { width: 300, speed: 0.2, now: 1_000 };
  const lanes = layOut({ left: 10, top: 20, width: 1_920, height: 300 }, 100, []);
  const last = { start: 1_000, width: 300, speed: 0.2 };
  const [first, second, third] = [0, 1, 2].map((n) => ({ top: 20 + n * 100, left: 10, width: 1_920, last: null }));
  assert.deepEqual(lanes, [first, second, third]);
  assert.deepEqual(place(lanes, wish), { lane: 0, start: 1_000, lanes: [{ ...first, last }, second, third] });
  const middle = place(lanes, { ...wish, prefer: 0.5 });
  assert.deepEqual(middle, { lane: 1, start: 1_000, lanes: [first, { ...second, last }, third] });
  assert.equal(place([], wish), null, "a wall without lanes shows nothing");
});

test("a faster comment waits until it cannot catch the one before it", () => {
  const lane = { top: 0, left: 0, width: 1_000, last: { start: 0, width: 100, speed: 0.1 } };
  // It is gone at 11 000 ms; one of twice its speed needs 5 000 ms to the left edge.
  const wish = { width: 10, speed: 0.2, now: 0 };
  assert.equal(earliest(lane, wish), 6_000);
  assert.equal(earliest(lane, { ...wish, speed: 0.1 }), 1_000);
});

/** A crowd at a wall that shows so many in a second: what is shown and what is left out, by sender. */
function crowd(seed) {
  const next = random(seed);
  const between = betweenOf(next);
  const bounds = { perSecond: between(2, 20), atOnce: Math.ceil(between(1, 6)), most: Math.ceil(between(5, 60)) };
  const patience = between(500, 5_000);
  // Some speak ten times as much as others.
  const senders = Array.from({ length: Math.ceil(between(1, 60)) }, (_, id) => ({
    name: `s${id}`, every: between(300, 3_000) * (next() < 0.3 ? 0.1 : 1), due: between(0, 3_000), said: 0, shown: 0,
    out: 0,
  }));
  const byName = new Map(senders.map((sender) => [sender.name, sender]));
  const sample = new Sample(bounds);
  const [shown, out] = [[], []];
  const leave = (items) => {
    for (const item of items) {
      out.push(item);
      byName.get(item.sender).out += 1;
    }
  };
  const seconds = 60;
  for (let now = 0; now < seconds * 1_000; now += 50) {
    for (const sender of senders) {
      for (; sender.due <= now; sender.due += sender.every) {
        sender.said += 1;
        leave(sample.offer({ sender: sender.name, at: now, number: sender.said }, sender.name, now));
        assert.ok(sample.size <= bounds.most);
      }
    }
    for (let item = sample.next(now); item; item = sample.next(now)) {
      shown.push({ ...item, now });
      byName.get(item.sender).shown += 1;
      sample.shown();
    }
    leave(sample.expire(now - patience));
  }
  return { bounds, patience, senders, shown, out, waiting: sample.size, seconds };
}

test("a wall shows no more than can be read, and every comment is shown, counted or waiting", () => {
  let crowded = 0;
  each((seed) => {
    const { bounds, patience, senders, shown, out, waiting, seconds } = crowd(seed);
    const said = senders.reduce((sum, sender) => sum + sender.said, 0);
    assert.equal(shown.length + out.length + waiting, said);
    assert.ok(shown.length <= bounds.atOnce + bounds.perSecond * seconds + 1);
    for (const { at, now } of shown) assert.ok(now - at <= patience + 50);
    if (out.length > 0) {
      crowded += 1;
      const enough = bounds.perSecond * seconds * 0.8;
      assert.ok(shown.length >= Math.min(enough, said * 0.5), "a crowded wall is used");
    }
  }, 200);
  assert.ok(crowded > 50, `${crowded} walls were crowded`);
});

test("no sender starves: each has at least half of an equal share, or of what it has said", () => {
  let starving = 0;
  each((seed) => {
    const { senders, shown } = crowd(seed);
    const fair = shown.length / senders.length;
    for (const sender of senders) {
      // One that speaks when it has just had its turn has the next one later: half of the times.
      const least = Math.min(fair, sender.said) / 2 - 1;
      assert.ok(sender.shown >= least, `${sender.name}: ${sender.shown} of ${sender.said}, fair are ${fair}`);
      if (sender.said > sender.shown) starving += 1;
    }
  }, 200);
  assert.ok(starving > 500, `${starving} senders had more to say than they could show`);
});

test("a sender of many comments takes no turns from a sender of one", () => {
  const sample = new Sample({ perSecond: 1, atOnce: 1, most: 10 });
  for (let number = 0; number < 50; number += 1) sample.offer(`flood ${number}`, "flood", 0);
  assert.deepEqual(sample.offer("hello", "quiet", 0), ["flood 9"], "the flood makes room");
  const turns = [];
  for (let now = 0; now < 4_000; now += 1_000) {
    turns.push(sample.next(now));
    sample.shown();
  }
  assert.deepEqual(turns, ["flood 0", "hello", "flood 1", "flood 2"]);
});

test("the same comments at the same moments give the same sample", () => {
  each((seed) => assert.deepEqual(crowd(seed).shown, crowd(seed).shown), 5);
});
