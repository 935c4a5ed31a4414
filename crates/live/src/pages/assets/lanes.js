// @ts-check
// Where a comment flies. Pure: numbers in, numbers out.
//
// The screen is cut into lanes of one height. A lane ends where something stands that no comment may
// cover, or begins behind it: `layOut` finds the free part of each.
//
// A comment enters at the right end of its lane at its start, and moves left at its own speed until
// its right edge has left the lane. Comments of one lane must never touch. Both move on straight
// lines, so it is enough that the new one is clear of the one before it at two moments:
//
//   when it enters:           the one before is wholly inside, with the gap behind it;
//   when the one before goes: the new one has not yet reached the left end.
//
// The one before it left after all that were ahead of it, so no other comment needs to be checked.

/** A lane must keep this part of the area's width, or comments in it could not be read. */
const WIDTH_MIN = 0.5;

/**
 * Pixels from the left and the top of the screen.
 * @typedef {{ left: number, top: number, width: number, height: number }} Box
 */

/**
 * A comment in a lane.
 * @typedef {{ start: number, width: number, speed: number }} Flight
 */

/**
 * A lane: its place in pixels, and the comment that entered it last. A lane without width is closed.
 * @typedef {{ top: number, left: number, width: number, last: Flight | null }} Lane
 */

/**
 * A comment that wants to fly: pixels, pixels per millisecond, milliseconds; how many lanes it takes,
 * one below the other; every how many of such places may be used; and in which part of them, from 0
 * to 1, the search begins.
 * @typedef {{ width: number, speed: number, now: number, gap?: number, patience?: number,
 *   span?: number, every?: number, prefer?: number }} Wish
 */

/**
 * Empty lanes of this height in a box, each as wide as the reserved boxes leave it.
 * @param {Box} box
 * @param {number} height
 * @param {Box[]} reserved
 * @returns {Lane[]}
 */
export function layOut(box, height, reserved) {
  const count = Math.max(0, Math.floor(box.height / height));
  // What does not fit a lane is left free above and below.
  const above = (box.height - count * height) / 2;
  return Array.from({ length: count }, (_, index) => {
    const top = box.top + above + index * height;
    const inWay = reserved.filter((other) => other.top < top + height && other.top + other.height > top);
    return { top, ...widestFree(box, inWay), last: null };
  });
}

/**
 * The widest part of a box that no other box reaches into from above or below.
 * @param {Box} box
 * @param {Box[]} inWay
 */
function widestFree({ left, width }, inWay) {
  const ordered = inWay.toSorted((one, other) => one.left - other.left);
  let widest = { left, width: 0 };
  let from = left;
  for (const { left: until, width: taken } of [...ordered, { left: left + width, width: 0 }]) {
    const free = Math.min(until, left + width) - from;
    if (free > widest.width) widest = { left: from, width: free };
    from = Math.max(from, until + taken);
  }
  return widest.width >= width * WIDTH_MIN ? widest : { left, width: 0 };
}

/**
 * Where comments of so many lanes may fly: the first lanes of groups that are open and equally wide.
 * The groups do not overlap, so that comments of one span do not get into each other's way.
 * @param {Lane[]} lanes
 * @param {number} span
 */
export function placesOf(lanes, span) {
  const places = [];
  for (let first = 0; first + span <= lanes.length; ) {
    const { left, width } = lanes[first];
    const group = lanes.slice(first, first + span);
    const isPlace = width > 0 && group.every((lane) => lane.left === left && lane.width === width);
    if (isPlace) places.push(first);
    first += isPlace ? span : 1;
  }
  return places;
}

/**
 * The earliest moment at which a comment may enter a lane.
 * @param {Lane} lane
 * @param {Wish} wish
 */
export function earliest({ width: viewport, last }, { speed, now, gap = 0 }) {
  if (!last) return now;
  const clear = last.start + (last.width + gap) / last.speed;
  const gone = last.start + (viewport + last.width) / last.speed;
  const behind = gone - (viewport - gap) / speed;
  return Math.max(now, clear, behind);
}

/**
 * The lane in which a comment can fly soonest, and when; nothing if it would have to wait longer than
 * its patience. Among lanes that are free alike, it is the first from the preferred place on. A
 * comment that takes several lanes flies where all of them are free.
 * @param {Lane[]} lanes
 * @param {Wish} wish
 * @returns {{ lane: number, start: number, lanes: Lane[] } | null}
 */
export function place(lanes, wish) {
  const { span = 1, every = 1, prefer = 0, patience = 0 } = wish;
  const places = placesOf(lanes, span).filter((_, nth) => nth % every === 0);
  const from = Math.floor(prefer * places.length);
  let [lane, start] = [0, Infinity];
  for (const first of [...places.slice(from), ...places.slice(0, from)]) {
    const taken = lanes.slice(first, first + span);
    const soonest = Math.max(...taken.map((one) => earliest(one, wish)));
    if (soonest < start) [lane, start] = [first, soonest];
  }
  if (start > wish.now + patience) return null;
  const last = { start, width: wish.width, speed: wish.speed };
  const isTaken = (/** @type {number} */ index) => index >= lane && index < lane + span;
  return { lane, start, lanes: lanes.map((one, index) => (isTaken(index) ? { ...one, last } : one)) };
}
