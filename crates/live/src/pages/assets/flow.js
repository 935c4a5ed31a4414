// @ts-check
// Comments that fly. A comment's width is measured on a canvas, its flight is one animation of a
// transform, and its element is used again: nothing is laid out but the text itself, once.
//
// A comment in large letters takes two lanes, one in small letters takes one. When the wall is
// crowded, comments become small first; when that is not enough, all of them become faster.
//
// The flow has a clock of its own, which runs faster when many wait, and stands when it is paused.
// All flights run on it, so that what the lanes have promised holds at every pace.

import { given } from "./kit/dom.js";
import { emptyLanes, place } from "./lanes.js";
import { shownName } from "./log.js";

/** How long a comment may wait for a lane, by the flow's clock, before it is left to the list. */
const PATIENCE_MS = 6_000;
/** How long it waits for room for large letters before it takes small ones. */
const CALM_MS = 1_000;
/** The clock at its fastest, when comments wait as long as they can. */
const HASTE_MAX = 3;
/** The clock changes by this at least, and not more often: it costs a word to every flight. */
const HASTE_STEP = 1;
const HASTE_EVERY_MS = 2_000;
/** Comments that are held while the flow is paused. */
const HELD_MAX = 100;
/** Comments wider than the screen fly faster, so that a lane is not theirs for too long. */
const STRETCH_MAX = 1.5;
/** Heights of a line and of the name above it, and the room for the rim, in letters. */
const [LINE, NAME, RIM] = [1.3, 0.42, 0.15];
/** Small letters, in large ones: a line of them is lower than half of a large one with its name. */
const SMALL = 0.6;
/** How much of the screen large letters fill, how long they are waited for, and how long small ones. */
const DENSITIES = [
  { share: 0.4, large: PATIENCE_MS, small: null },
  { share: 0.75, large: CALM_MS, small: PATIENCE_MS },
  { share: 0, large: null, small: PATIENCE_MS },
];

/**
 * @typedef {{ commentId: string, content: string, nickname: string, isHost: boolean }} Comment
 * @typedef {{ id: string, isHost: boolean, isSmall: boolean, text: string, name: string,
 *   width: number, speed: number, lane: number, start: number }} Planned
 */

export class Flow {
  /** @type {Map<string, { element: HTMLElement, flight: Animation }>} */
  flying = new Map();
  isPaused = false;
  /** What `reset` finds out about the screen, in pixels. */
  viewport = 0;
  size = 0;
  lane = 0;
  family = "";
  /** @type {HTMLElement[]} */
  #pool = [];
  /** @type {any[]} what came while the flow was paused */
  #held = [];
  /** @type {Planned[]} what has its lane and its moment, and is not on the screen yet */
  #waiting = [];
  #canvas = /** @type {OffscreenCanvasRenderingContext2D} */ (new OffscreenCanvas(1, 1).getContext("2d"));
  #lanes = emptyLanes(1);
  /** The flow's clock: what it showed at a moment, and how fast it runs since. */
  #shown = 0;
  #since = 0;
  #rate = 1;

  /**
   * @param {HTMLElement} root
   * @param {{ size: number, seconds: number, density: number }} settings letters in hundredths of
   *   the screen's height, seconds for a screen, one of the densities
   * @param {() => void} leaveOut told of each comment that did not find a lane
   */
  constructor(root, settings, leaveOut) {
    this.root = root;
    this.settings = settings;
    this.leaveOut = leaveOut;
    this.reset();
    addEventListener("resize", () => this.reset());
  }

  /** Begins anew: the screen or the letters have another size. */
  reset() {
    this.clear();
    this.viewport = innerWidth;
    this.size = Math.round((innerHeight * this.settings.size) / 100);
    this.lane = (this.size * (LINE + NAME)) / 2;
    this.#lanes = emptyLanes(Math.max(2, Math.floor(innerHeight / this.lane)));
    this.root.style.setProperty("--size", `${this.size}px`);
    this.family = getComputedStyle(this.root).fontFamily;
    this.#run(this.isPaused ? 0 : 1);
  }

  /**
   * Lets a comment fly.
   * @param {Comment} comment
   */
  add(comment) {
    if (this.isPaused) {
      if (this.#held.length < HELD_MAX) this.#held.push(comment);
      else this.leaveOut();
      return;
    }
    const { share, large, small } = DENSITIES[this.settings.density];
    const among = Math.max(2, Math.floor((share * innerHeight) / this.lane));
    const planned =
      (large !== null && this.#plan(comment, false, { span: 2, among, patience: large })) ||
      (small !== null && this.#plan(comment, true, { patience: small }));
    const isLate = !planned || planned.isSmall || small === null;
    const wait = planned ? planned.start - this.#now() : Infinity;
    this.#hurry(isLate ? 1 + (HASTE_MAX - 1) * Math.min(1, (2 * wait) / PATIENCE_MS) : 1);
    if (!planned) {
      this.leaveOut();
      return;
    }
    this.#waiting.push(planned);
    if (this.#waiting.length === 1) requestAnimationFrame(() => this.#depart());
  }

  /**
   * Finds a lane and a moment, if there is one in time.
   * @param {Comment} comment
   * @param {boolean} isSmall
   * @param {{ patience: number, span?: number, among?: number }} wanted
   * @returns {Planned | null}
   */
  #plan({ commentId: id, content, nickname, isHost }, isSmall, wanted) {
    const size = isSmall ? this.size * SMALL : this.size;
    const text = (isHost ? "◆ " : "") + content.replaceAll("\n", " ");
    const name = isSmall || shownName(nickname) === given.said.anonymous ? "" : nickname;
    const letters = Math.max(this.#measure(text, size), this.#measure(name, size * NAME));
    const width = Math.ceil(letters + 2 * RIM * size);
    const { viewport } = this;
    const stretch = Math.min(STRETCH_MAX, Math.max(1, width / viewport));
    const speed = (viewport / (this.settings.seconds * 1_000)) * stretch;
    const wish = { width, speed, now: this.#now(), viewport, gap: this.size / 2, ...wanted };
    const found = place(this.#lanes, wish);
    if (!found) return null;
    this.#lanes = found.lanes;
    return { id, isHost, isSmall, text, name, width, speed, lane: found.lane, start: found.start };
  }

  /**
   * Takes a comment off the screen at once.
   * @param {string} id
   */
  remove(id) {
    this.#held = this.#held.filter((comment) => comment.commentId !== id);
    this.#waiting = this.#waiting.filter((planned) => planned.id !== id);
    const known = this.flying.get(id);
    if (!known) return;
    known.flight.cancel();
    this.#land(id, known.element);
  }

  clear() {
    for (const id of [...this.flying.keys()]) this.remove(id);
    this.#held = [];
    this.#waiting = [];
  }

  /** Stands still, or goes on. */
  toggle() {
    this.isPaused = !this.isPaused;
    this.#run(this.isPaused ? 0 : 1);
    if (!this.isPaused) for (const comment of this.#held.splice(0)) this.add(comment);
  }

  /** Lets those fly whose moment has come. */
  #depart() {
    const now = this.#now();
    const isDue = (/** @type {Planned} */ planned) => planned.start <= now;
    const due = this.#waiting.filter(isDue);
    this.#waiting = this.#waiting.filter((planned) => !isDue(planned));
    for (const planned of due) this.#fly(planned, planned.start - now);
    if (this.#waiting.length > 0) requestAnimationFrame(() => this.#depart());
  }

  /**
   * @param {Planned} planned
   * @param {number} delay below nothing: it has begun a little ago
   */
  #fly({ id, isHost, isSmall, text, name, width, speed, lane }, delay) {
    const element = this.#pool.pop() ?? this.#make();
    const [above, line] = /** @type {any} */ (element.children);
    above.textContent = name;
    line.textContent = text;
    element.classList.toggle("is-host", isHost);
    element.classList.toggle("is-small", isSmall);
    element.dataset.id = id;
    element.dataset.lane = String(lane);
    element.style.top = `${lane * this.lane}px`;
    element.style.width = `${width}px`;
    element.hidden = false;
    const from = { transform: `translateX(${this.viewport}px)` };
    const to = { transform: `translateX(${-width}px)` };
    const duration = (this.viewport + width) / speed;
    const flight = element.animate([from, to], { duration, delay, fill: "both" });
    flight.playbackRate = this.#rate;
    // Not "as soon as it is painted": the lanes rely on the moment.
    flight.startTime = document.timeline.currentTime;
    flight.onfinish = () => this.#land(id, element);
    this.flying.set(id, { element, flight });
  }

  /**
   * @param {string} id
   * @param {HTMLElement} element
   */
  #land(id, element) {
    this.flying.delete(id);
    element.hidden = true;
    this.#pool.push(element);
  }

  #make() {
    const element = document.createElement("div");
    element.className = "fly";
    element.append(document.createElement("small"), document.createElement("span"));
    this.root.append(element);
    return element;
  }

  /**
   * @param {string} text
   * @param {number} size
   */
  #measure(text, size) {
    this.#canvas.font = `700 ${size}px ${this.family}`;
    return this.#canvas.measureText(text).width;
  }

  /** The flow's clock, by the time of the frame, which all animations share. */
  #now() {
    return this.#shown + (Number(document.timeline.currentTime) - this.#since) * this.#rate;
  }

  /** @param {number} wanted */
  #hurry(wanted) {
    const rate = Math.round(wanted / HASTE_STEP) * HASTE_STEP;
    const passed = Number(document.timeline.currentTime) - this.#since;
    if (rate !== this.#rate && passed > HASTE_EVERY_MS) this.#run(rate);
  }

  /**
   * Lets the clock run at another rate.
   * @param {number} rate
   */
  #run(rate) {
    this.#shown = this.#now();
    this.#since = Number(document.timeline.currentTime);
    this.#rate = rate;
    for (const { flight } of this.flying.values()) flight.playbackRate = rate;
  }
}
