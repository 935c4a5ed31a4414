// @ts-check
// Comments that fly. A comment's width is measured on a canvas, its flight is one animation of a
// transform, and its element is used again: nothing is laid out but the text itself, once.
//
// `sample.js` decides which comment is next, `lanes.js` where it flies. Letters are large, with the
// name above them, while few comments come. When more come, they have the smallest letters that can
// be read, and all of them move faster. What people could not read any more is left to the list.
//
// The flow has a clock of its own, which runs faster when many come, and stands when it is paused.
// All flights run on it, so that what the lanes have promised holds at every pace.

import { given } from "./kit/dom.js";
import { layOut, place } from "./lanes.js";
import { shownName } from "./log.js";
import { Sample } from "./sample.js";

/** Letters in hundredths of the screen's height: smaller ones cannot be read from the back row. */
export const LETTERS = { least: 4, usual: 6, most: 12 };
/** Comments in a second that people can still follow; more are sampled. */
const READ_PER_SECOND = 15;
/** Comments that may enter at the same moment after a pause. More of them would be a column. */
const AT_ONCE = 4;
/** Comments that wait for their turn, and how long, by the flow's clock. */
const [WAITING_MAX, PATIENCE_MS] = [45, 4_000];
/** How long a comment may wait for the lane that it was given. */
const LANE_PATIENCE_MS = 400;
/** How long arrivals are counted, to know how many come. */
const COUNTED_MS = 3_000;
/** Comments in a second up to which letters are large. */
const LARGE_PER_SECOND = 2.5;
/** The clock at its fastest: words must be readable while they cross the screen. */
const HASTE_MAX = 2;
/** The clock changes in these steps, and not more often: each change updates every flight. */
const HASTE_STEP = 0.5;
const HASTE_EVERY_MS = 2_000;
/** How full lanes may be before the clock runs faster: gaps between comments cannot all be used. */
const FULL = 0.75;
/** Comments wider than the screen fly faster, so that a lane is not theirs for too long. */
const STRETCH_MAX = 1.5;
/** Heights of a line and of the name above it, and the room for the rim, in letters. */
const [LINE, NAME, RIM] = [1.3, 0.42, 0.15];
/** Sparse: every second lane and large letters only; usual; dense: small letters only. */
const DENSITIES = [
  { every: 2, hasLarge: true, hasSmall: false },
  { every: 1, hasLarge: true, hasSmall: true },
  { every: 1, hasLarge: false, hasSmall: true },
];
/** Steps of this part of the screen never meet the same lane again soon. */
const GOLDEN = 0.618_034;

/**
 * @typedef {{ commentId: string, content: string, nickname: string, isHost: boolean }} Comment
 * @typedef {import("./lanes.js").Box} Box
 * @typedef {{ comment: Comment, isSmall: boolean, text: string, name: string, width: number,
 *   speed: number, lane: number, span: number, start: number }} Planned
 * @typedef {{ root: HTMLElement, pool: HTMLElement[] }} Band comments of lanes that are equally wide,
 *   and the elements that can be used again
 */

export class Flow {
  /** @type {Map<string, { element: HTMLElement, flight: Animation, planned: Planned, band: Band }>} */
  flying = new Map();
  isPaused = false;
  /** What `reset` finds out about the part of the screen in which comments fly, in pixels. */
  #stage = { width: 0, height: 0 };
  #size = 0;
  #small = 0;
  #lane = 0;
  #family = "";
  /** @type {Box[]} */
  #reserved = [];
  /** @type {Map<string, Band>} */
  #bands = new Map();
  /** @type {Sample<Comment>} */
  #sample = new Sample({ perSecond: READ_PER_SECOND, atOnce: AT_ONCE, most: WAITING_MAX });
  /** @type {Planned[]} what has its lane and its moment, and is not on the screen yet */
  #waiting = [];
  /** @type {{ at: number, width: number }[]} what came of late, as wide as with small letters */
  #arrivals = [];
  #canvas = /** @type {OffscreenCanvasRenderingContext2D} */ (new OffscreenCanvas(1, 1).getContext("2d"));
  /** @type {import("./lanes.js").Lane[]} */
  #lanes = [];
  /** Where the search for a lane begins: it moves on, so that comments are spread over the screen. */
  #prefer = 0;
  #isTicking = false;
  /** The flow's clock: what it showed at a moment, and how fast it runs since. */
  #shown = 0;
  #since = 0;
  #rate = 1;

  /**
   * @param {HTMLElement} root
   * @param {{ letters: number, seconds: number, density: number }} settings letters in hundredths of
   *   the screen's height or 0, seconds for a screen, one of the densities
   * @param {(count: number) => void} leaveOut called with how many comments stay in the list alone
   */
  constructor(root, settings, leaveOut) {
    this.root = root;
    this.settings = settings;
    this.leaveOut = leaveOut;
    this.reset();
  }

  /** Begins anew if the part of the screen has another size; one that is not shown has none. */
  fit() {
    const { clientWidth: width, clientHeight: height } = this.root;
    if (width > 0 && (width !== this.#stage.width || height !== this.#stage.height)) this.reset();
  }

  /** Begins anew: the screen or the letters have another size. */
  reset() {
    this.clear();
    this.#stage = { width: this.root.clientWidth, height: this.root.clientHeight };
    const pixels = (/** @type {number} */ letters) => Math.ceil((innerHeight * letters) / 100);
    this.#small = pixels(LETTERS.least);
    this.#size = pixels(Math.max(LETTERS.least, this.settings.letters || LETTERS.usual));
    this.#lane = this.#small * LINE;
    for (const { root } of this.#bands.values()) root.remove();
    this.#bands.clear();
    this.#lanes = this.#layOut();
    this.root.style.setProperty("--size", `${this.#size}px`);
    this.root.style.setProperty("--small", `${this.#small}px`);
    this.#family = getComputedStyle(this.root).fontFamily;
    this.#run(this.isPaused ? 0 : 1);
  }

  /**
   * Keeps comments away from these boxes, which are measured from the corner of the root. Those that fly where a box stands now are taken away; what
   * had hardly begun flies again elsewhere.
   * @param {Box[]} boxes
   */
  reserve(boxes) {
    if (JSON.stringify(boxes) === JSON.stringify(this.#reserved)) return;
    this.#reserved = boxes;
    const before = this.#lanes;
    const isSame = (/** @type {number} */ index) =>
      this.#lanes[index].left === before[index].left && this.#lanes[index].width === before[index].width;
    this.#lanes = this.#layOut();
    this.#lanes = this.#lanes.map((lane, index) => (isSame(index) ? before[index] : lane));
    const isCut = (/** @type {Planned} */ { lane, span }) =>
      Array.from({ length: span }, (_, nth) => lane + nth).some((index) => !isSame(index));
    const cut = this.#waiting.filter(isCut).map(({ comment }) => comment);
    this.#waiting = this.#waiting.filter((planned) => !isCut(planned));
    for (const [id, { flight, planned }] of [...this.flying]) {
      if (!isCut(planned)) continue;
      if ((flight.effect?.getComputedTiming().progress ?? 1) < 0.5) cut.push(planned.comment);
      this.remove(id);
    }
    for (const comment of cut) this.add(comment);
  }

  /**
   * Lets a comment fly when its turn comes.
   * @param {Comment} comment
   */
  add(comment) {
    const text = textOf(comment);
    this.#arrivals.push({ at: this.#time(), width: this.#measure(text, this.#small) + this.#small });
    // People without a name are not one sender.
    const { commentId, nickname, isHost } = comment;
    const isNamed = shownName(nickname) !== given.said.anonymous;
    const sender = isHost ? "host" : isNamed ? `name ${nickname}` : `comment ${commentId}`;
    this.#leaveOut(this.#sample.offer(comment, sender, this.#now()).length);
    this.#tick();
  }

  /**
   * Takes a comment off the screen at once.
   * @param {string} id
   */
  remove(id) {
    this.#sample.remove((comment) => comment.commentId === id);
    this.#waiting = this.#waiting.filter((planned) => planned.comment.commentId !== id);
    const known = this.flying.get(id);
    if (!known) return;
    known.flight.cancel();
    this.#land(id);
  }

  clear() {
    for (const id of [...this.flying.keys()]) this.remove(id);
    this.#sample.clear();
    this.#waiting = [];
    this.#lanes = this.#lanes.map((lane) => ({ ...lane, last: null }));
  }

  /**
   * Stands still, or goes on. What comes meanwhile waits.
   * @param {boolean} isPaused
   */
  pause(isPaused) {
    if (isPaused === this.isPaused) return;
    this.isPaused = isPaused;
    this.#run(isPaused ? 0 : 1);
    this.#tick();
  }

  #layOut() {
    return layOut({ left: 0, top: 0, ...this.#stage }, this.#lane, this.#reserved);
  }

  /** Works once now, and then at each frame while something waits. */
  #tick() {
    this.#plan();
    this.#depart();
    if (this.#isTicking || this.isPaused || this.#waiting.length + this.#sample.size === 0) return;
    this.#isTicking = true;
    requestAnimationFrame(() => {
      this.#isTicking = false;
      this.#tick();
    });
  }

  /** Gives lanes to those whose turn it is, as long as there are any. */
  #plan() {
    if (this.isPaused) return;
    this.#hurry();
    for (;;) {
      const comment = this.#sample.next(this.#time());
      const planned = comment && this.#find(comment);
      if (!planned) break;
      this.#sample.shown();
      this.#prefer = (this.#prefer + GOLDEN) % 1;
      this.#waiting.push(planned);
    }
    this.#leaveOut(this.#sample.expire(this.#now() - PATIENCE_MS).length);
  }

  /** @param {number} count */
  #leaveOut(count) {
    if (count > 0) this.leaveOut(count);
  }

  /**
   * Finds a lane and a moment, if there is one soon.
   * @param {Comment} comment
   * @returns {Planned | null}
   */
  #find(comment) {
    const { hasLarge, hasSmall } = DENSITIES[this.settings.density];
    const isCalm = this.#perSecond() <= LARGE_PER_SECOND || !hasSmall;
    return (hasLarge && isCalm && this.#findAs(comment, false)) || (hasSmall && this.#findAs(comment, true)) || null;
  }

  /**
   * @param {Comment} comment
   * @param {boolean} isSmall
   * @returns {Planned | null}
   */
  #findAs(comment, isSmall) {
    const size = isSmall ? this.#small : this.#size;
    const text = textOf(comment);
    const isNamed = !isSmall && shownName(comment.nickname) !== given.said.anonymous;
    const name = isNamed ? comment.nickname : "";
    const letters = Math.max(this.#measure(text, size), this.#measure(name, size * NAME));
    const width = Math.ceil(letters + 2 * RIM * size);
    const stretch = Math.min(STRETCH_MAX, Math.max(1, width / this.#stage.width));
    const speed = this.#speed() * stretch;
    const span = isSmall ? 1 : Math.ceil((size * (LINE + NAME)) / this.#lane);
    const { every } = DENSITIES[this.settings.density];
    const wish = {
      width, speed, span, every, now: this.#now(), gap: this.#size / 2, patience: LANE_PATIENCE_MS,
      prefer: this.#prefer,
    };
    const found = place(this.#lanes, wish);
    if (!found) return null;
    this.#lanes = found.lanes;
    return { comment, isSmall, text, name, width, speed, lane: found.lane, span, start: found.start };
  }

  /** Lets those fly whose moment has come. */
  #depart() {
    const now = this.#now();
    const isDue = (/** @type {Planned} */ planned) => planned.start <= now;
    const due = this.#waiting.filter(isDue);
    if (due.length > 0) this.#waiting = this.#waiting.filter((planned) => !isDue(planned));
    for (const planned of due) this.#fly(planned, planned.start - now);
  }

  /**
   * @param {Planned} planned
   * @param {number} delay below nothing: it has begun a little ago
   */
  #fly(planned, delay) {
    const { comment, isSmall, text, name, width, speed, lane, span } = planned;
    const { top, left, width: viewport } = this.#lanes[lane];
    const band = this.#band(left, viewport);
    const element = band.pool.pop() ?? make(band.root);
    const [above, line] = /** @type {any} */ (element.children);
    above.textContent = name;
    line.textContent = text;
    element.classList.toggle("is-host", comment.isHost);
    element.classList.toggle("is-small", isSmall);
    element.dataset.id = comment.commentId;
    element.dataset.lane = String(lane);
    element.dataset.span = String(span);
    const height = isSmall ? this.#small * LINE : this.#size * (LINE + NAME);
    element.style.top = `${top + (span * this.#lane - height) / 2}px`;
    element.style.width = `${width}px`;
    element.hidden = false;
    const from = { transform: `translateX(${viewport}px)` };
    const to = { transform: `translateX(${-width}px)` };
    const duration = (viewport + width) / speed;
    const flight = element.animate([from, to], { duration, delay, fill: "both" });
    flight.playbackRate = this.#rate;
    // Not "as soon as it is painted": the lanes rely on the moment.
    flight.startTime = document.timeline.currentTime;
    flight.onfinish = () => this.#land(comment.commentId);
    this.flying.set(comment.commentId, { element, flight, planned, band });
  }

  /**
   * The part of the screen in which comments of lanes of this place and width are seen.
   * @param {number} left
   * @param {number} width
   */
  #band(left, width) {
    const name = `${left} ${width}`;
    const known = this.#bands.get(name);
    if (known) return known;
    const root = document.createElement("div");
    root.className = "band";
    root.style.left = `${left}px`;
    root.style.width = `${width}px`;
    this.root.append(root);
    /** @type {Band} */
    const band = { root, pool: [] };
    this.#bands.set(name, band);
    return band;
  }

  /** @param {string} id */
  #land(id) {
    const known = this.flying.get(id);
    if (!known) return;
    this.flying.delete(id);
    known.element.hidden = true;
    known.band.pool.push(known.element);
  }

  /**
   * @param {string} text
   * @param {number} size
   */
  #measure(text, size) {
    this.#canvas.font = `700 ${size}px ${this.#family}`;
    return this.#canvas.measureText(text).width;
  }

  /** Pixels in a millisecond of the flow's clock. */
  #speed() {
    return innerWidth / (this.settings.seconds * 1_000);
  }

  /** The time of the frame, which all animations share. */
  #time() {
    return Number(document.timeline.currentTime);
  }

  /** The flow's clock. */
  #now() {
    return this.#shown + (this.#time() - this.#since) * this.#rate;
  }

  /** Comments in a second of late. */
  #perSecond() {
    const from = this.#time() - COUNTED_MS;
    this.#arrivals = this.#arrivals.filter(({ at }) => at >= from);
    return (this.#arrivals.length * 1_000) / COUNTED_MS;
  }

  /** Lets the clock run as fast as the comments of late need it to find lanes. */
  #hurry() {
    const coming = this.#perSecond();
    const widths = this.#arrivals.reduce((sum, { width }) => sum + width, 0);
    const shown = widths * Math.min(1, READ_PER_SECOND / Math.max(1, coming));
    const perMs = shown / COUNTED_MS;
    const open = this.#lanes.filter(({ width }) => width > 0).length;
    const wanted = perMs / Math.max(1, open) / (this.#speed() * FULL);
    const rate = Math.min(HASTE_MAX, Math.max(1, Math.ceil(wanted / HASTE_STEP) * HASTE_STEP));
    const isDue = this.#time() - this.#since > HASTE_EVERY_MS;
    if (rate !== this.#rate && isDue) this.#run(rate);
  }

  /**
   * Lets the clock run at another rate.
   * @param {number} rate
   */
  #run(rate) {
    this.#shown = this.#now();
    this.#since = this.#time();
    this.#rate = rate;
    for (const { flight } of this.flying.values()) flight.playbackRate = rate;
  }
}

/** @param {HTMLElement} root */
function make(root) {
  const element = document.createElement("div");
  element.className = "fly";
  element.append(document.createElement("small"), document.createElement("span"));
  root.append(element);
  return element;
}

/** @param {Comment} comment */
const textOf = ({ content, isHost }) => (isHost ? "◆ " : "") + content.replaceAll("\n", " ");
