// @ts-check
// Which comments a crowded wall shows. Pure: times in, comments out, no clock and no chance.
//
// Comments wait here for their turn, a bounded number of them and for a bounded time. Each sender has
// one place in the order: the moment from which it wants a turn and has had none. The sender that
// waits longest is next, and goes to the end when it has had its turn. So a sender of many comments
// has no more turns than a sender of a few, and a sender whose comment was left out comes before
// those that have been shown since: nobody is left out again and again.

/** Senders whose order is remembered; past it the one that was seen first is forgotten. */
const SENDERS_MAX = 2_000;

/**
 * @template T
 * @typedef {{ sender: string, at: number, item: T }} Waiting
 */

/** @template T */
export class Sample {
  /** @type {Waiting<T>[]} in the order in which they came */
  #waiting = [];
  /** @type {Map<string, number>} since when each sender has wanted a turn, in turns and arrivals */
  #since = new Map();
  #count = 0;
  #tokens;
  #refilled = -Infinity;

  /**
   * @param {{ perSecond: number, atOnce: number, most: number }} bounds how many are shown in a
   *   second, and at once after a pause; how many wait
   */
  constructor({ perSecond, atOnce, most }) {
    this.perSecond = perSecond;
    this.atOnce = atOnce;
    this.most = most;
    this.#tokens = atOnce;
  }

  get size() {
    return this.#waiting.length;
  }

  /**
   * Adds a comment that wants to be shown.
   * @param {T} item
   * @param {string} sender
   * @param {number} at
   * @returns {T[]} what has no place among those that wait
   */
  offer(item, sender, at) {
    if (!this.#since.has(sender)) this.#queueUp(sender);
    this.#waiting.push({ sender, at, item });
    return this.#waiting.length > this.most ? [this.#giveUp()] : [];
  }

  /**
   * The next comment, if the pace allows one at this moment. It waits on until it is `shown`.
   * @param {number} at
   * @returns {T | null}
   */
  next(at) {
    this.#refill(at);
    if (this.#tokens < 1 || this.#waiting.length === 0) return null;
    return this.#first().item;
  }

  /** The comment that `next` gave has its turn. */
  shown() {
    const first = this.#first();
    this.#waiting.splice(this.#waiting.indexOf(first), 1);
    this.#tokens -= 1;
    this.#since.delete(first.sender);
    if (this.#waiting.some(({ sender }) => sender === first.sender)) this.#queueUp(first.sender);
  }

  /**
   * Gives up what came before this moment.
   * @param {number} before
   * @returns {T[]}
   */
  expire(before) {
    const isLate = (/** @type {Waiting<T>} */ one) => one.at < before;
    const late = this.#waiting.filter(isLate);
    if (late.length > 0) this.#waiting = this.#waiting.filter((one) => !isLate(one));
    return late.map(({ item }) => item);
  }

  /** @param {(item: T) => boolean} isGone */
  remove(isGone) {
    this.#waiting = this.#waiting.filter(({ item }) => !isGone(item));
  }

  clear() {
    this.#waiting = [];
  }

  /** @param {number} at */
  #refill(at) {
    const gained = ((at - this.#refilled) * this.perSecond) / 1_000;
    this.#tokens = Math.min(this.atOnce, this.#tokens + gained);
    this.#refilled = at;
  }

  /** @param {string} sender */
  #queueUp(sender) {
    this.#count += 1;
    this.#since.set(sender, this.#count);
    if (this.#since.size <= SENDERS_MAX) return;
    for (const known of this.#since.keys()) {
      if (this.#waiting.every(({ sender }) => sender !== known)) {
        this.#since.delete(known);
        return;
      }
    }
  }

  /** @param {Waiting<T>} one */
  #rank(one) {
    return this.#since.get(one.sender) ?? Infinity;
  }

  /** The oldest comment of the sender that has waited longest. */
  #first() {
    return this.#waiting.reduce((best, one) => (this.#rank(one) < this.#rank(best) ? one : best));
  }

  /**
   * Takes away the newest comment of the sender that has most of them waiting; among those alike, of
   * the one that has waited least for its turn.
   */
  #giveUp() {
    /** @type {Map<string, number>} */
    const counts = new Map();
    for (const { sender } of this.#waiting) counts.set(sender, (counts.get(sender) ?? 0) + 1);
    const count = (/** @type {Waiting<T>} */ one) => counts.get(one.sender) ?? 0;
    const last = this.#waiting.reduce((worst, one) => {
      const more = count(one) - count(worst);
      return more > 0 || (more === 0 && this.#rank(one) >= this.#rank(worst)) ? one : worst;
    });
    this.#waiting.splice(this.#waiting.indexOf(last), 1);
    return last.item;
  }
}
