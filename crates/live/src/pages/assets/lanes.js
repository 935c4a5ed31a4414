// @ts-check
// Where a comment flies. Pure: numbers in, numbers out.
//
// A comment enters at the right edge at its start, and moves left at its own speed until its right
// edge has left the screen. Comments of one lane must never touch. Both move on straight lines, so
// it is enough that the new one is clear of the one before it at two moments:
//
//   when it enters:           the one before is wholly inside, with the gap behind it;
//   when the one before goes: the new one has not yet reached the left edge.
//
// Before the one before it went those ahead of that one, so that nobody else needs to be asked.

/**
 * A comment in a lane.
 * @typedef {{ start: number, width: number, speed: number }} Flight
 */

/**
 * A comment that wants to fly: pixels, pixels per millisecond, milliseconds; how many lanes it
 * takes, one below the other, and how many from the top it may choose from.
 * @typedef {{ width: number, speed: number, now: number, viewport: number, gap?: number,
 *   patience?: number, span?: number, among?: number }} Wish
 */

/**
 * Lanes in which nobody is.
 * @param {number} count
 * @returns {(Flight | null)[]}
 */
export function emptyLanes(count) {
  return Array(Math.max(1, count)).fill(null);
}

/**
 * The earliest moment at which a comment may enter behind another one.
 * @param {Flight | null} before
 * @param {Wish} wish
 */
export function earliest(before, { speed, now, viewport, gap = 0 }) {
  if (!before) return now;
  const clear = before.start + (before.width + gap) / before.speed;
  const gone = before.start + (viewport + before.width) / before.speed;
  const behind = gone - (viewport - gap) / speed;
  return Math.max(now, clear, behind);
}

/**
 * The lane in which a comment can fly soonest, from the top, and when; nothing if it would have to
 * wait longer than its patience. What waits is bounded by that, and nobody waits for ever. One that
 * takes several lanes flies where all of them are free, from a multiple of its span.
 * @param {(Flight | null)[]} lanes
 * @param {Wish} wish
 * @returns {{ lane: number, start: number, lanes: (Flight | null)[] } | null}
 */
export function place(lanes, wish) {
  const { span = 1, among = lanes.length } = wish;
  let [lane, start] = [0, Infinity];
  for (let first = 0; first + span <= among; first += span) {
    const taken = lanes.slice(first, first + span);
    const soonest = Math.max(...taken.map((before) => earliest(before, wish)));
    if (soonest < start) [lane, start] = [first, soonest];
  }
  if (start > wish.now + (wish.patience ?? 0)) return null;
  const flight = { start, width: wish.width, speed: wish.speed };
  const isTaken = (/** @type {number} */ index) => index >= lane && index < lane + span;
  return { lane, start, lanes: lanes.map((before, index) => (isTaken(index) ? flight : before)) };
}
