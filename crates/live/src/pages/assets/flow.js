// @ts-check
// Comments that fly. A comment's width is measured on a canvas, its flight is one animation of a
// transform, and its element is used again: nothing is laid out but the text itself, once.
//
// The flow has a clock of its own, which runs faster when many wait, and stands when it is paused.
// All flights run on it, so that what the lanes have promised holds at every pace.

import { emptyLanes, place } from "./lanes.js";

/** How long a comment may wait for a lane, by the flow's clock, before it is left to the list. */
const PATIENCE_MS = 6_000;
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
/** How much of the screen the lanes fill, and how large letters are, by density. */
const DENSITIES = [
  { share: 0.4, letters: 1, names: true },
  { share: 0.75, letters: 1, names: true },
  { share: 1, letters: 0.6, names: false },
];

/**
 * @typedef {{ commentId: string, content: string, nickname: string, isHost: boolean }} Comment
 * @typedef {{ id: string, isHost: boolean, text: string, name: string, width: number, speed: number,
 *   lane: number, start: number }} Planned
 */

export class Flow {
  /** @type {Map<string, { element: HTMLElement, flight: Animation }>} */
  flying = new Map();
  isPaused = false;
  /** What `reset` finds out about the screen, in pixels. */
  viewport = 0;
  size = 0;
  lane = 0;
  names = true;
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
    const { share, letters, names } = DENSITIES[this.settings.density];
    this.viewport = innerWidth;
    this.names = names;
    this.size = Math.round((innerHeight * this.settings.size * letters) / 100);
    this.lane = this.size * (names ? LINE + NAME : LINE);
    this.#lanes = emptyLanes(Math.floor((innerHeight * share) / this.lane));
    this.root.style.setProperty("--size", `${this.size}px`);
    this.root.classList.toggle("nameless", !names);
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
    const text = (comment.isHost ? "◆ " : "") + comment.content.replaceAll("\n", " ");
    const isNamed = this.names && comment.nickname !== "Anonymous";
    const name = isNamed ? comment.nickname : "";
    const letters = Math.max(this.#measure(text, 1), this.#measure(name, NAME));
    const width = Math.ceil(letters + 2 * RIM * this.size);
    const { viewport } = this;
    const stretch = Math.min(STRETCH_MAX, Math.max(1, width / viewport));
    const speed = (viewport / (this.settings.seconds * 1_000)) * stretch;
    const now = this.#now();
    const wish = { width, speed, now, viewport, gap: this.size / 2, patience: PATIENCE_MS };
    const found = place(this.#lanes, wish);
    const wait = (found?.start ?? Infinity) - now;
    this.#hurry(1 + (HASTE_MAX - 1) * Math.min(1, (2 * wait) / PATIENCE_MS));
    if (!found) {
      this.leaveOut();
      return;
    }
    this.#lanes = found.lanes;
    const { commentId: id, isHost } = comment;
    const { lane, start } = found;
    this.#waiting.push({ id, isHost, text, name, width, speed, lane, start });
    if (this.#waiting.length === 1) requestAnimationFrame(() => this.#depart());
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
  #fly({ id, isHost, text, name, width, speed, lane }, delay) {
    const element = this.#pool.pop() ?? this.#make();
    const [above, line] = /** @type {any} */ (element.children);
    above.textContent = name;
    line.textContent = text;
    element.classList.toggle("is-host", isHost);
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
   * @param {number} scale
   */
  #measure(text, scale) {
    this.#canvas.font = `700 ${this.size * scale}px ${this.family}`;
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
